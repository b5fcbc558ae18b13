// Destinations
