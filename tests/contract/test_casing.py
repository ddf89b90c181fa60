"""The golden table of contract 4.4 and case D2: names of variables, byte for byte as the Go operator makes them."""

from __future__ import annotations

import pytest

from ansible_operator.model.casing import clashes, snake_keys, to_snake

GOLDEN = {
    "targetDeployment": "target_deployment",
    "apiVersion": "api_version",
    "JSONData": "_json_data",
    "URL": "__url",
    "IPs": "__ips",
    "IP": "__ip",
    "targetURL": "target_url",
    "targetURLs": "target_urls",
    "egressIPs": "egress_ips",
    "clusterIP": "cluster_ip",
    "IPAddress": "ip_address",
    "HTTPPort": "http_port",
    "HTTPGet": "http_get",
    "httpGet": "http_get",
    "HTTPSProxy": "http_s_proxy",
    "httpURL": "http_url",
    "HTTPURL": "http__url",
    "targetURLIP": "target_url__ip",
    "Foo": "_foo",
    "A": "_a",
    "aB": "ab",
    "fooB": "foo_b",
    "CIDR": "_cidr",
    "CPULimit": "_cpu_limit",
    "maxCPU": "max_cpu",
    "AWSKey": "_aws_key",
    "SCRIPT": "_scr_ip_t",
    "DESCRIPTION": "_descr_ip_tion",
    "ZIPCode": "_z_ip_code",
    "UPPER_CASE": "_upper_case",
    "db2_init": "db2_init",
    "pg1_repo_path": "pg1_repo_path",
    "abc11def": "abc11def",
    "v1beta1": "v1beta1",
    "0abc": "0abc",
    "$ref": "$ref",
    "tls.crt": "tls.crt",
    "trailing_": "trailing_",
    "s3Bucket": "s3_bucket",
    "x509Cert": "x509_cert",
    "a1b2": "a_1_b2",
    "a1B2": "a_1_b2",
    "s3e1": "s_3_e1",
    "IPs4": "_ips_4",
    "k8sAPIServer": "k8s_api_server",
    "foo-bar": "foo_bar",
    "Disk-Type": "_disk_type",
    "x-Custom-Header": "x_custom_header",
    "spaced key": "spaced_key",
    "kubernetes.io/os": "kubernetes.io/os",
    "app.kubernetes.io/partOf": "app.kubernetes.io/part_of",
    "myKey.Sub": "my_key._sub",
    "keyÜ": "keyü",
}


@pytest.mark.parametrize(("key", "variable"), GOLDEN.items(), ids=GOLDEN)
def test_the_golden_table(key: str, variable: str) -> None:
    assert to_snake(key) == variable


@pytest.mark.parametrize("key", ["", " ", "   "], ids=["empty", "one blank", "blanks"])
def test_a_blank_key_stays_where_the_go_operator_panics(key: str) -> None:
    assert to_snake(key) == key
    assert snake_keys({key: {key: 1}}) == {key: {key: 1}}


def test_the_spec_of_case_d2() -> None:
    spec = {
        "targetDeployment": "web",
        "nodeSelector": {"Disk-Type": "ssd", "kubernetes.io/os": "linux"},
        "egressIPs": ["a"],
        "s3Bucket": "b",
        "db2_init": 1,
        "aB": 1,
        "JSONData": {"innerKey": 1},
        "env": [{"maxCPU": 1}],
    }
    assert snake_keys(spec) == {
        "target_deployment": "web",
        "node_selector": {"_disk_type": "ssd", "kubernetes.io/os": "linux"},
        "egress_ips": ["a"],
        "s3_bucket": "b",
        "db2_init": 1,
        "ab": 1,
        "_json_data": {"inner_key": 1},
        "env": [{"max_cpu": 1}],
    }


@pytest.mark.parametrize("spec", [{"fooBar": 1, "foo_bar": 2}, {"foo_bar": 2, "fooBar": 1}], ids=["last", "first"])
def test_of_two_keys_for_one_name_the_literal_one_wins_and_the_clash_is_told(spec: dict[str, int]) -> None:
    assert snake_keys(spec) == {"foo_bar": 2}
    assert clashes(spec) == ["foo_bar"]
