# The operator image, in two targets:
#
#   runtime    the base for any operator-sdk style project: Python, Ansible, ansible-operator and the collections. It keeps the
#              contract of operator-sdk's ansible-operator image (user, directories, entry point), so that a Dockerfile
#              written for that one works when its FROM names this one.
#   operator   (the default) runtime with this repository's content, made as any such project makes its own.
#
# BASE is a Debian, with a Python of its own (3.11 or later) or without. The same build goes on without a registry, on a base made
# from Debian packages: `make image-rootfs`. Bytes depend on what is built alone: times are set by the builder
# (SOURCE_DATE_EPOCH), and bytecode names its source by hash, not by time.
ARG BASE=debian:bookworm-slim

# What a build needs and the result has not: pip, the build backend, caches.
FROM ${BASE} AS build
# A mirror of the package index, where the default one is out of reach; for its certificates see --secret id=ca below.
ARG PIP_INDEX_URL
ARG SOURCE_DATE_EPOCH
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CERT=/etc/ssl/certs/ca-certificates.crt PYTHONHASHSEED=0 \
    PYTHONDONTWRITEBYTECODE=1
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates tini \
    && { python3 -c 'import ensurepip' || apt-get install --yes --no-install-recommends python3-venv; }
# /opt/venv is what goes into the image, and pip stays outside of it; the backend as it is locked, in an environment of its own.
RUN python3 -m venv /opt/backend && python3 -m venv --without-pip /opt/venv
ENV INSTALL="/opt/backend/bin/pip --python /opt/venv/bin/python install --no-compile"
WORKDIR /build
COPY requirements/runtime.txt requirements/dev.txt requirements/
# Certificates of this build alone, for an index behind a proxy that has its own: docker build --secret id=ca,src=FILE
RUN --mount=type=secret,id=ca,target=/etc/ssl/certs/ca-certificates.crt \
    sed -n '/^setuptools==/,/[^\\]$/p' requirements/dev.txt > requirements/backend.txt \
    && /opt/backend/bin/pip install --require-hashes -r requirements/backend.txt \
    && ${INSTALL} --require-hashes --only-binary=:all: -r requirements/runtime.txt
# Out of the package that is locked by its hash, and never from Galaxy, which would give what it has by then.
COPY requirements.yml ./
COPY requirements/collections.txt requirements/
COPY tools/content_collections tools/content_collections
RUN --mount=type=secret,id=ca,target=/etc/ssl/certs/ca-certificates.crt \
    PYTHONPATH=tools:$(echo /opt/backend/lib/python3*/site-packages) \
    /opt/venv/bin/python -m content_collections --no-galaxy --into /opt/collections \
    && chmod -R ug+rwX /opt/collections
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/backend/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && ${INSTALL} --no-deps --no-index --find-links dist ansible-operator \
    && python3 -m compileall -qf --invalidation-mode checked-hash /opt/venv/lib

# Python and its bytecode, without what only installs.
FROM ${BASE} AS python
RUN if ! command -v python3; then \
        apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3; \
    fi \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache \
        /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /root/.cache \
    && cd "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
    && rm -rf ensurepip site-packages/pip* ../../bin/pip* \
    && PYTHONHASHSEED=0 python3 -m compileall -qf --invalidation-mode checked-hash "$PWD"

FROM python AS installed
COPY --from=build /usr/bin/tini-static /tini
COPY --from=build /opt/venv /opt/venv
ENV HOME=/opt/ansible USER_NAME=ansible USER_UID=1001 PATH=/opt/venv/bin:$PATH
# The host file is for ansible-playbook by hand: an explicit localhost would be given the Python of the system.
# OpenShift gives a pod a user of its own, always in group 0.
RUN ln -s /opt/venv/bin/ansible-operator /usr/local/bin/ansible-operator \
    && echo "${USER_NAME}:x:${USER_UID}:0:${USER_NAME} user:${HOME}:/sbin/nologin" >> /etc/passwd \
    && mkdir -p /etc/ansible "${HOME}/.ansible/tmp" "${HOME}/.ansible/collections/ansible_collections" \
    && echo 'localhost ansible_connection=local ansible_python_interpreter=/opt/venv/bin/python' > /etc/ansible/hosts \
    && printf '[defaults]\nroles_path = /opt/ansible/roles\nlibrary = /usr/share/ansible/openshift\n' > /etc/ansible/ansible.cfg \
    && chown -R "${USER_UID}:0" "${HOME}" && chmod -R ug+rwX "${HOME}"
WORKDIR ${HOME}
COPY --from=build --chown=1001:0 /opt/collections/ansible_collections .ansible/collections/ansible_collections

# The bill of materials: what is installed, as it says itself.
FROM installed AS sbom
COPY tools/imagebuild/sbom.py /
RUN python /sbom.py > /sbom.cdx.json

FROM installed AS runtime
COPY --from=sbom /sbom.cdx.json /usr/share/sbom/ansible-operator.cdx.json
USER 1001
ENTRYPOINT ["/tini", "--", "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]

FROM runtime AS operator
COPY --chown=1001:0 watches.yaml requirements.yml ./
COPY --chown=1001:0 roles roles
COPY --chown=1001:0 playbooks playbooks
