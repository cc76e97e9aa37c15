"""Questions to people and their answers: one anatomy of a card, one writer of rulings."""
