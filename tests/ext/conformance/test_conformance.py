"""The checks that anybody's stores can run are kept by ours, and notice a store that fails."""

import dataclasses

import pytest

from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.interaction import Interaction
from acc_ace.ext.conformance import CHECKS, Check, ConformanceError
from acc_ace.storage.create_stores import Stores
from tests.docs.test_api import defined
from tests.fakes.stores import InMemoryEvidenceStore


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_our_stores_keep_what_they_promise(stores: Stores, check: Check) -> None:
    await check(stores)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_conformance_test_of_the_document_passes(check: Check) -> None:
    await defined()["test_my_stores"](check)


class Forgetful(InMemoryEvidenceStore):
    """Forgets what it is told."""

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Nothing."""


async def test_a_store_that_forgets_is_told(stores: Stores) -> None:
    broken = dataclasses.replace(stores, evidence=Forgetful())
    with pytest.raises(ConformanceError, match="guarantee broken: recorded again, it is replaced"):
        await CHECKS[2](broken)
