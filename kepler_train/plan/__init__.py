"""What a run is to do, settled before anything is done."""
