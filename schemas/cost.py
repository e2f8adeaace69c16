"""Public contract: prices, and costs of turns and sessions. See `acc_ace.core.schemas.cost`."""

from acc_ace.core.schemas.cost import (
    NEWEST,
    REPLAY,
    CostOfTurn,
    Crossing,
    DaySpending,
    DaySum,
    ModelPrice,
    ModelUse,
    PriceTable,
    SessionCost,
    StageCost,
    Totals,
    Used,
)

__all__ = [
    "NEWEST",
    "REPLAY",
    "CostOfTurn",
    "Crossing",
    "DaySpending",
    "DaySum",
    "ModelPrice",
    "ModelUse",
    "PriceTable",
    "SessionCost",
    "StageCost",
    "Totals",
    "Used",
]
