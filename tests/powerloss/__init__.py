"""What a power loss may leave of a store: writes and syncs are recorded, disks are built from them, and opened."""
