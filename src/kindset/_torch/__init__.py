"""What every package that uses torch needs: images, devices, tensors on disk, training hooks."""
