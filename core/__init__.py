"""ACC and ACE without an agent framework: domain rules, ports, adapters and wiring."""
