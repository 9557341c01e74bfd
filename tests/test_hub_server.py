"""The tests' Hub against the real client library."""

from __future__ import annotations

import json

import pytest
from hub_fixtures import HubClient
from hub_server import HubServer

SCRIPT = """
import json, sys
from huggingface_hub import HfApi, CommitOperationAdd, CommitOperationDelete, hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
api = HfApi()
def status(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except HfHubHTTPError as error:
        return error.response.status_code
REPO = "s2lct-org/cases"
told = {}
"""


def told_by(client: HubClient, script: str) -> dict[str, object]:
    told: dict[str, object] = json.loads(
        client.python(SCRIPT + script + "\nprint(json.dumps(told))").splitlines()[-1]
    )
    return told


def test_commits_tags_and_files_are_what_the_client_wrote(hub: HubClient) -> None:
    told = told_by(
        hub,
        """
api.create_repo(REPO, repo_type="dataset")
api.create_repo(REPO, repo_type="dataset", exist_ok=True)
first = api.create_commit(REPO, [
    CommitOperationAdd("README.md", b"---\\nlicense: mit\\n---\\n# Cases"),
    CommitOperationAdd("data/a/test.parquet", b"PAR1" * 1000),
], commit_message="First", repo_type="dataset")
api.create_tag(REPO, tag="v1.0.0", repo_type="dataset")
api.create_commit(REPO, [
    CommitOperationDelete("data/a/test.parquet"), CommitOperationAdd("b.txt", b"b"),
], commit_message="Second", repo_type="dataset", parent_commit=first.oid)
told["tags"] = [tag.name for tag in api.list_repo_refs(REPO, repo_type="dataset").tags]
told["now"] = api.list_repo_files(REPO, repo_type="dataset")
told["then"] = api.list_repo_files(REPO, repo_type="dataset", revision="v1.0.0")
told["size"] = len(open(hf_hub_download(REPO, "data/a/test.parquet", repo_type="dataset",
    revision="v1.0.0"), "rb").read())
told["titles"] = [commit.title for commit in api.list_repo_commits(REPO, repo_type="dataset")]
told["stale"] = status(api.create_commit, REPO, [CommitOperationAdd("c", b"c")],
    commit_message="Third", repo_type="dataset", parent_commit=first.oid)
told["tag again"] = status(api.create_tag, REPO, tag="v1.0.0", repo_type="dataset")
told["licence"] = api.dataset_info(REPO, revision="v1.0.0").card_data.license
told["me"] = api.whoami()["name"]
""",
    )
    assert told == {
        "tags": ["v1.0.0"],
        "now": [".gitattributes", "README.md", "b.txt"],
        "then": [".gitattributes", "README.md", "data/a/test.parquet"],
        "size": 4000,
        "titles": ["Second", "First", "initial commit"],
        "stale": 412,
        "tag again": 409,
        "licence": "mit",
        "me": "maintainer",
    }
    assert hub.server.files("dataset", "s2lct-org/cases")["b.txt"] == b"b"
    uploads = hub.server.asked("/lfs/", "PUT")
    assert [len(upload.body) for upload in uploads] == [4000]


def test_strangers_propose_and_maintainers_merge(hub: HubClient, stranger: HubClient) -> None:
    told_by(hub, 'api.create_repo(REPO, repo_type="dataset")')
    told = told_by(
        stranger,
        """
add = [CommitOperationAdd("x.json", b"{}")]
told["push"] = status(api.create_commit, REPO, add, commit_message="Mine", repo_type="dataset")
add = [CommitOperationAdd("x.json", b"{}")]
commit = api.create_commit(REPO, add, commit_message="Mine", repo_type="dataset", create_pr=True)
told["revision"] = commit.pr_revision
told["files"] = api.list_repo_files(REPO, repo_type="dataset", revision=commit.pr_revision)
told["main"] = api.list_repo_files(REPO, repo_type="dataset")
told["merge"] = status(api.merge_pull_request, REPO, 1, repo_type="dataset")
""",
    )
    assert told["push"] == told["merge"] == 403
    assert told["revision"] == "refs/pr/1"
    assert "x.json" in told["files"]  # type: ignore[operator]
    assert "x.json" not in told["main"]  # type: ignore[operator]
    merged = told_by(
        hub,
        """
told["open"] = [pull.title for pull in api.get_repo_discussions(REPO, repo_type="dataset")]
api.merge_pull_request(REPO, 1, repo_type="dataset")
told["status"] = api.get_discussion_details(REPO, 1, repo_type="dataset").status
told["main"] = api.list_repo_files(REPO, repo_type="dataset")
""",
    )
    assert merged["open"] == ["Mine"]
    assert merged["status"] == "merged"
    assert "x.json" in merged["main"]  # type: ignore[operator]


def test_private_repos_are_hidden_from_strangers(hub: HubClient, stranger: HubClient) -> None:
    told_by(hub, "api.create_repo(REPO, private=True)")
    look = 'told["seen"] = status(api.model_info, REPO)'
    assert told_by(hub, look) == {"seen": None}
    assert told_by(stranger, look) == {"seen": 404}


def test_the_leaderboard_lists_what_models_report(hub: HubClient) -> None:
    told = told_by(
        hub,
        """
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
import yaml
api.create_repo(REPO, repo_type="dataset")
told["before"] = status(api.get_dataset_leaderboard, REPO)
api.upload_file(path_or_fileobj=b"name: cases\\n", path_in_repo="eval.yaml", repo_id=REPO,
    repo_type="dataset")
for name, value in ("low", 0.25), ("high", 0.75):
    api.create_repo(f"maintainer/{name}")
    entry = EvalResultEntry(dataset_id=REPO, task_id="all", value=value)
    content = yaml.safe_dump(eval_result_entries_to_yaml([entry])).encode()
    api.upload_file(path_or_fileobj=content, path_in_repo=".eval_results/s2lct.yaml",
        repo_id=f"maintainer/{name}", create_pr=name == "low")
told["ranks"] = [(entry.rank, entry.model_id, entry.value, entry.pull_request)
    for entry in api.get_dataset_leaderboard(REPO)]
told["own"] = api.model_info("maintainer/high", expand=["evalResults"]).eval_results[0].value
""",
    )
    assert told == {
        "before": 404,
        "ranks": [[1, "maintainer/high", 0.75, None], [2, "maintainer/low", 0.25, 1]],
        "own": 0.75,
    }


@pytest.mark.parametrize("status", [401, 403, 404, 409, 429, 500])
def test_failures_reach_the_client_and_leave_nothing(hub: HubClient, status: int) -> None:
    hub.server.fail_next(status, "/commit/")
    told = told_by(
        hub,
        """
api.create_repo(REPO, repo_type="dataset")
add = [CommitOperationAdd("a.txt", b"a")]
for attempt in ("first", "second"):
    told[attempt] = [
        status(api.create_commit, REPO, add, commit_message="A", repo_type="dataset"),
        "a.txt" in api.list_repo_files(REPO, repo_type="dataset"),
    ]
""",
    )
    assert told == {"first": [status, False], "second": [None, True]}


@pytest.mark.parametrize("after_handling", [False, True])
def test_a_cut_connection_is_an_error_of_the_transport(
    hub_server: HubServer, hub: HubClient, after_handling: bool
) -> None:
    told_by(hub, 'api.create_repo(REPO, repo_type="dataset")')
    hub_server.cut_next("/commit/", after_handling=after_handling)
    told = told_by(
        hub,
        """
try:
    api.create_commit(REPO, [CommitOperationAdd("a.txt", b"a")], commit_message="A",
        repo_type="dataset")
except Exception as error:
    told["error"] = type(error).__name__
""",
    )
    assert told == {"error": "RemoteProtocolError"}
    assert ("a.txt" in hub_server.files("dataset", "s2lct-org/cases")) is after_handling


def test_refused_tokens_are_told_apart(hub: HubClient) -> None:
    told = told_by(hub, 'told["status"] = status(HfApi(token="hf_wrong").whoami)')
    assert told == {"status": 401}
    assert hub.server.requests[-1].headers["authorization"] == "Bearer hf_wrong"
