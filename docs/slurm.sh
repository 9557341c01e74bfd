#!/usr/bin/env bash
# A Ray cluster on the nodes of a Slurm job, and one s2lct command on it:
#   sbatch --nodes=4 --cpus-per-task=16 docs/slurm.sh build --corpus parquet:/data/reviews --out /data/s2lct
#SBATCH --job-name=s2lct
#SBATCH --ntasks-per-node=1
set -euo pipefail

port=${PORT:-6379}
cpus=${SLURM_CPUS_PER_TASK:-1}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

export RAY_USAGE_STATS_ENABLED=0
# Ray asks for a token, which lies in ~/.ray: every node must see it, as with a shared home.
export RAY_AUTH_MODE=token
ray get-auth-token --generate >/dev/null
srun --nodes=1 --ntasks=1 --nodelist="$head" \
    ray start --head --port="$port" --num-cpus="$cpus" --include-dashboard=false --block &
for _ in {1..60}; do
    ray status --address="$head:$port" >/dev/null 2>&1 && break
    sleep 2
done
if ((SLURM_NNODES > 1)); then
    srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" \
        ray start --address="$head:$port" --num-cpus="$cpus" --block &
fi

# Workers that come later are not counted: wait until all CPUs are there.
for _ in {1..60}; do
    ray status --address="$head:$port" 2>/dev/null | grep -q "/$((SLURM_NNODES * cpus)).0 CPU" && break
    sleep 2
done
RAY_ADDRESS="$head:$port" s2lct "$@" --engine ray
