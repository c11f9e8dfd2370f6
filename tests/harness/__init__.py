"""What tests are made with: real services on loopback, and ways to wait for them."""
