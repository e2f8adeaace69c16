"""Public contract: prices, and what turns and sessions cost. Defined in `acc_ace.schemas.cost`."""

from acc_ace.schemas.cost import (
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
]
