# Part of the image, read before the files of /etc/holdfast: what those say again wins, and listeners add up.

# Below the volume and not the volume itself, which orchestrators open to a group; the server makes it for itself alone.
data_dir = "/data/holdfast"

# For the health check, and for commands run inside the container.
listener "unix" {
  address = "/data/api.sock"
}
