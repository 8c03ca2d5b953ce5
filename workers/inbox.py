"""The receiving side: a second, independent file that keeps every delivery once and adds up its effect."""

from runtime.protocol.receive import Delivery, Receipt, Received
from runtime.store.inbox import Inbox

__all__ = ["Delivery", "Inbox", "Receipt", "Received"]
