# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of vaults, prompts, ``no_log`` and what else is to be kept to oneself."""

from __future__ import annotations

from tests.warm.cases.case import book, play, role

_FILE = """\
$ANSIBLE_VAULT;1.1;AES256
66303039373932333137626465353436306337373964383438383631613061323166633964333736
3138363939316431323665623662396634383236333036360a386562656131666366343035636132
35383837616530313065326334373066353937363236303031643162663065363633396532666466
3764663637306233300a626365393338333761356137303366376437386431396663613830383463
35383438653233373431376438653133346637376461383132656564326366303534613031646532
3431363331386165373563393233613762396563386434653566
"""
_INLINE = """\
inline: !vault |
  $ANSIBLE_VAULT;1.1;AES256
  36316466366464666636653539633266663334336135316535396337343638306563353365613364
  3765663837643539393039616230396535346266366161380a626666663066323062366530363638
  31303136613662343262353539356334396166346335363439663839366162353863633032636134
  3930333131363163350a346537393961383664363339353030306133356665616633633736313964
  3431
"""
_TEXT = """\
$ANSIBLE_VAULT;1.1;AES256
31326662333463613630353233363764643364313537366261383138643862343665336634643562
3763656663313165323932653936616466663133373766630a656262326538653664653436396163
61336662346339623766333030643062306662393664363830303834303830663438306334613234
3034343066366331370a333739326161653931373736665376335332
"""
_SECRETS = {"s.yml": _FILE, "vars/inline.yml": _INLINE, "pw": "rosebud\n", "wrong": "no\n"}
_READ = """
- hosts: localhost
  gather_facts: false
  vars_files: [s.yml, vars/inline.yml]
  tasks:
    - debug: {msg: '{{ secret_value }} {{ inline }} {{ secret_list | sum }}'}
    - ping: {data: '{{ inline }}'}
    - include_vars: {file: s.yml, name: again}
    - debug: {var: again}
    - copy: {src: s.yml, dest: '{{ playbook_dir }}/clear.yml'}
    - slurp: {src: '{{ playbook_dir }}/clear.yml'}
      register: s
    - debug: {msg: '{{ s.content | b64decode }}'}
    - debug: {msg: '{{ lookup("file", "s.yml") }} {{ lookup("unvault", "s.yml") }}'}
    - debug: {msg: '{{ "x" | vault("rosebud") | unvault("rosebud") }}'}
    - fail: {msg: '{{ inline }}'}
      no_log: true
"""
book("vault_by_argument", _READ, files=_SECRETS, arguments="--vault-password-file CONTENT/pw")
book("vault_by_variable", _READ, files=_SECRETS, environment={"ANSIBLE_VAULT_PASSWORD_FILE": "CONTENT/pw"})
book(
    "vault_by_identity",
    _READ,
    files=_SECRETS,
    environment={"ANSIBLE_VAULT_IDENTITY_LIST": "a@CONTENT/wrong,b@CONTENT/pw"},
)
book(
    "vault_by_script",
    _READ,
    files={**_SECRETS, "pw.py": "#!/usr/bin/env python3\nprint('rosebud')\n"},
    arguments="--vault-password-file CONTENT/pw.py",
)
book("vault_with_a_wrong_secret", _READ, files=_SECRETS, arguments="--vault-password-file CONTENT/wrong")
book("vault_without_a_secret", _READ.replace("  vars_files: [s.yml, vars/inline.yml]\n", ""), files=_SECRETS)
book(
    "vault_broken",
    "- hosts: localhost\n  gather_facts: false\n  tasks: [{include_vars: t.yml, ignore_errors: true}, {debug: {msg: x}}]\n",
    files={"t.yml": _TEXT, "pw": "rosebud\n"},
    arguments="--vault-password-file CONTENT/pw",
)
role(
    "vault_in_a_role",
    {
        "pw": "rosebud\n",
        "vars/main.yml": _INLINE,
        "defaults/main.yml": _FILE,
        "tasks/main.yml": "- debug: {msg: '{{ inline }} {{ secret_value }}'}\n- debug: {var: vars.inline}\n",
    },
    arguments="--vault-password-file CONTENT/roles/vault_in_a_role/pw",
)
role(
    "vault_password_file_missing",
    {"tasks/main.yml": "- debug: {msg: x}\n"},
    arguments="--vault-password-file /nonexistent",
)
book(
    "prompt_that_is_answered",
    "- hosts: localhost\n  gather_facts: false\n  vars_prompt: [{name: who, prompt: Who, private: false}, {name: word, prompt: Word, default: d}]\n  tasks: [{debug: {msg: '{{ who }} {{ word }}'}}]\n",
    variables={"who": "me", "word": "w"},
)
book(
    "prompt_that_nobody_answers",
    "- hosts: localhost\n  gather_facts: false\n  vars_prompt: [{name: who, prompt: Who}]\n  tasks: [{debug: {msg: '{{ who }}'}}]\n",
    timeout=12.0,
)
play("pause_that_asks", "- pause: {prompt: Go on, seconds: 1}\n- debug: {msg: on}\n")
play(
    "no_log_of_arguments",
    """
    - hides: {word: s3cret, plain: p}
    - hides: {word: s3cret, plain: s3cret-again, fail: true}
      ignore_errors: true
    - uri: {url: 'http://user:s3cret@127.0.0.1:1/', url_password: hidden}
      ignore_errors: true
    - debug: {msg: '{{ item.word }}'}
      loop: [{word: s3cret}]
      loop_control: {label: shown}
      no_log: '{{ true }}'
    - debug: {msg: shown}
      no_log: false
    - set_fact: {word: s3cret}
      no_log: true
    - debug: {msg: '{{ 1 / 0 }}'}
      no_log: true
    """,
    files={
        "library/hides.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nm = AnsibleModule({'word': {'type': 'str', 'no_log': True}, 'plain': {'type': 'str'}, 'fail': {'type': 'bool'}, 'password': {'type': 'str'}})\n(m.fail_json if m.params['fail'] else m.exit_json)(msg='it is ' + m.params['word'], word=m.params['word'], plain=m.params['plain'])\n"
    },
)
