"""Read a lesson as terms: two lessons of the same terms ask for the same."""
