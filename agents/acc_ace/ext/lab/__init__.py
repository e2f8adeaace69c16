"""Evaluation on local data: offline learning and the recall benchmark."""
