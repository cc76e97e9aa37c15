"""Where things are built: everybody else receives. Offline parts first, what needs network and aiogram apart."""
