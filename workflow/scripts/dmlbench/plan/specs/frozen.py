"""Frozen networks: which features their runs share, computed once for each data set, or given."""

import itertools

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.naming import digest_of
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.specs.versions import feature_versions

GIVEN = "given"
"""The network, and its backbone, whose features are the vectors of a data set."""
VECTORS = "vectors"
"""The layout of such a data set."""

_DIGITS = 12
FEATURES = rf"\w+-[0-9a-f]{{{_DIGITS}}}"
"""Regular expression of the name of features."""


def features_name(spec: Spec) -> str:
    """The name of the features of a spec's network, equal for equal features of a data set."""
    identity = {"network": spec.identity["network"], "versions": feature_versions(spec.network)}
    return f"{spec.network.backbone.name}-{digest_of(identity, _DIGITS)}"


def row_with(plan: Plan, data: str, features: str) -> Row:
    """A row of the plan, or of a search's runs, that needs these features.

    Args:
        data: the folder of the data set.

    Raises:
        UserError: there is none.
    """
    listed = (row for study in plan.studies for row in plan.rows(study))
    for row in itertools.chain(listed, (search.tuned for search in plan.searches.values())):
        if (
            plan.networks[row.network].frozen is not None
            and plan.data(row.dataset).folder == data
            and features_name(plan.spec(row)) == features
        ):
            return row
    raise UserError(f"features {features} of {data}: no active study's networks have them")
