#!/bin/bash
# docs/ops.md is what the registries say.
exec "$1" "$2" "$3"
