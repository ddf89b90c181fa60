# The operator image: the runtime from locked requirements, the collections, and this repository's content.
# It keeps the contract of operator-sdk's ansible-operator image (user, directories, entrypoint), so it also serves as a base:
# FROM it, COPY watches.yaml, roles/ and playbooks/ over ${HOME}.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
# A mirror of the package index, where the default one is out of reach.
ARG PIP_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /build
COPY requirements/runtime.txt requirements/dev.txt requirements/
# The build backend as it is locked, in an environment that stays behind here.
RUN python3 -m venv /opt/backend \
    && sed -n '/^setuptools==/,/[^\\]$/p' requirements/dev.txt > requirements/backend.txt \
    && /opt/backend/bin/pip install --require-hashes -r requirements/backend.txt \
    && pip install --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/backend/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && pip install --no-deps dist/*.whl
COPY requirements.yml ./
COPY requirements/collections.txt requirements/
COPY tools/content_collections tools/content_collections
RUN PYTHONPATH=tools python3 -m content_collections --into /opt/collections

FROM ${BASE}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/bin/tini /tini
COPY --from=build /opt/venv /opt/venv
ENV HOME=/opt/ansible USER_NAME=ansible USER_UID=1001 PATH=/opt/venv/bin:$PATH
RUN ln -s /opt/venv/bin/ansible-operator /usr/local/bin/ansible-operator \
    && echo "${USER_NAME}:x:${USER_UID}:0:${USER_NAME} user:${HOME}:/sbin/nologin" >> /etc/passwd \
    && mkdir -p /etc/ansible "${HOME}/.ansible/tmp" \
    && printf '[defaults]\nroles_path = /opt/ansible/roles\nlibrary = /usr/share/ansible/openshift\n' > /etc/ansible/ansible.cfg
WORKDIR ${HOME}
COPY --from=build /opt/collections/ansible_collections .ansible/collections/ansible_collections
COPY watches.yaml requirements.yml ./
COPY roles roles
COPY playbooks playbooks
# OpenShift gives a pod a user of its own, always in group 0.
RUN chown -R "${USER_UID}:0" "${HOME}" && chmod -R ug+rwX "${HOME}"
USER 1001
ENTRYPOINT ["/tini", "--", "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]
