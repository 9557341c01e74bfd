"""Records that are written as JSON and checked when they are read again."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Record(BaseModel):
    """Fields that do not change, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def fault_of(error: ValidationError) -> str:
    """The first thing that is wrong, behind where it stands."""
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else fault["msg"]
