"""Public contract: the Reflector's output. Defined in `acc_ace.schemas.reflection`."""

from acc_ace.schemas.reflection import MOST_TAGS, BulletTag, Reflection, Tag

__all__ = ["MOST_TAGS", "BulletTag", "Reflection", "Tag"]
