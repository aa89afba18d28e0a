#!/bin/sh
#SBATCH --job-name=lab
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
# Runs one shard of a campaign in each task of a Slurm array, every one into a store of its own:
#
#   sbatch --wait recipes/slurm-array.sh [CLAIM ...]     --array=1-64 before the script makes it 64 shards
#   lab cluster merge shards/* && lab run [CLAIM ...]            judges, and runs what may not leave this machine
#
# The node needs the lab in its PATH and the kernels in ~/.cache, which a shared home gives it.
exec lab run "$@" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --results "shards/$SLURM_ARRAY_TASK_ID"
