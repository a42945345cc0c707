"""Which commands make which record. A command is a program of the build and its flags; {out} is the file of the record.

`full` is what bench/results holds, hours of one core in all; `quick` shows the same in minutes, with more noise.
"""

import collections

# `words`: what it measures. `kind`: rows: every command prints JSON lines; micro: Google Benchmark; peers: appends by itself.
Record = collections.namedtuple("Record", "words full quick kind", defaults=("rows",))


def command(words):
    return words.split()


def paper(name, full, quick):
    return Record({"bootstrap": "Rapid's bootstrap: all join through one seed at once",
                   "faults": "Rapid's asymmetric faults: what becomes of the faulty, and of the views",
                   "spread": "one update: time to the last member, copies",
                   "shrink": "SWIM's figure 4: 17 joiners at 10 % loss",
                   "floor": "the load against the floor of Gupta, Chandra and Goldszmidt",
                   "known": "failures that users of memberlist met, in a baseline and in nekton"}[name],
                  [command(f"papers --json --experiment={name} --seed=1 {full}")],
                  [command(f"papers --json --experiment={name} --seed=1 {quick}")])


MICRO = ("engine_bench", "wire_bench", "stm_bench", "phi_bench", "sim_bench", "lease_bench")

RECORDS = {
    "message_cost": Record(
        "datagrams and bytes per member and period, by kind",
        [command("message_cost --json --nodes=2,8,32,128,512,2048 --probing=random,staggered --seed=4000"),
         command("message_cost --json --nodes=8,32,128,512 --detector=fixed --protocol=memberlist --mesh=false --seed=4000"),
         command("message_cost --json --nodes=8,32,128 --detector=fixed --protocol=nekton,memberlist --loss=0.05,0.15,0.3 "
                 "--mesh=false --seed=4000"),
         command("message_cost --json --nodes=8,32,128 --detector=fixed --probing=staggered --loss=0.05,0.15,0.3 --mesh=false "
                 "--seed=4000"),
         command("message_cost --json --nodes=8,32,128 --detector=phi --probing=random,staggered --loss=0.05,0.15,0.3 "
                 "--mesh=false --seed=4000"),
         command("message_cost --json --nodes=10000 --detector=fixed --crashes=1 --seed=1")],
        [command("message_cost --json --nodes=2,8,32,128 --probing=random,staggered --crashes=2 --seed=4000"),
         command("message_cost --json --nodes=32 --detector=fixed --protocol=nekton,memberlist --loss=0,0.05,0.15,0.3 --crashes=2 "
                 "--mesh=false --seed=4000")]),
    "detection": Record(
        "how soon a crash is suspected, confirmed, known to all",
        [command("detection --json --nodes=8,32 --crashes=10000 --seed=4000"),
         command("detection --json --nodes=128 --crashes=5000 --seed=1"),
         command("detection --json --nodes=512 --crashes=1500 --seed=1"),
         command("detection --json --nodes=1000 --crashes=200 --seed=1"),
         command("detection --json --probing=staggered --nodes=8,32 --crashes=10000 --seed=4000"),
         command("detection --json --probing=staggered --nodes=128 --crashes=2000 --seed=4000"),
         command("detection --json --probing=staggered --nodes=512 --crashes=300 --seed=4000"),
         command("detection --json --probing=staggered --nodes=1000 --crashes=100 --seed=4000"),
         command("detection --json --protocol=memberlist --nodes=8,32,128 --port=silent --crashes=500 --seed=1")],
        [command("detection --json --nodes=8,32 --probing=random,staggered --crashes=200 --seed=1"),
         command("detection --json --protocol=memberlist --nodes=8,32 --port=silent --crashes=100 --seed=1")]),
    "soak": Record(
        "false suspicions and deaths while all are well and the network is not",
        [command("detection --soak --json --nodes=8,32,128,512 --member_hours=85 --seed=4000"),
         command("detection --soak --json --protocol=memberlist --nodes=8,32,128 --member_hours=20 --seed=4000")],
        [command("detection --soak --json --nodes=8,32 --protocol=nekton,memberlist --member_hours=3 --seed=1")]),
    "lifeguard": Record(
        "Lifeguard's Interval experiment, 60 of its points, beside swim, lifeguard and memberlist in the same engine",
        [command("lifeguard --json --protocol=nekton --runs=5 --seed=9000"),
         command("lifeguard --json --protocol=swim,lifeguard,memberlist --seed=4000")],
        [command("lifeguard --json --only=8/16384/1024,32/16384/1024 --seed=1")]),
    "hardship": Record(
        "freezes, deaf, slow and lossy members, broken pairs, mass deaths",
        [command("hardship --json --protocol=nekton,staggered --seed=1000"),
         command("hardship --json --cases=deaf/1000,flip/1000/in,flip/1000/out,lossy/1000/in,lossy/1000/out --seed=1000"),
         command("hardship --json --protocol=memberlist --cases=pairs/32/30,pairs/32/50,pairs/128/50,lossy/32 --seed=1000")],
        [command("hardship --json --protocol=nekton,memberlist --cases=freeze/32,lossy/32,quarter/128 --runs=2 --seed=1000")]),
    "tuning": Record("one parameter changed at a time, beside the baselines and the nine points that Lifeguard publishes",
                     [command("tuning --grid --json --seed=1")],
                     [command("tuning --grid --json --sample=5 --crashes=60 --hours=20 --seed=1")]),
    "tuning_rules": Record("one rule or part left out at a time", [command("tuning --rules --json --seed=1")],
                           [command("tuning --rules --json --crashes=40 --hours=10 --seed=1")]),
    "detector_quality": Record("detection time against mistakes of four detectors on made-up traces",
                               [command("detector_quality --json --seed=1")],
                               [command("detector_quality --json --beats=30000 --seed=1")]),
    "bootstrap": paper("bootstrap", "", "--quick"),
    "faults": paper("faults", "", "--quick"),
    "spread": paper("spread", "", "--quick"),
    "shrink": paper("shrink", "", "--quick"),
    "floor": paper("floor", "", "--quick"),
    "known": paper("known", "", "--quick"),
    "peers": Record("nekton and memberlist side by side over real sockets, on this machine",
                    [command("peers/compare.py --out {out}")], [command("peers/compare.py --quick --out {out}")], "peers"),
    "micro": Record("engine, wire, state machine, phi, simulator, leases",
                    [command(f"{program} --benchmark_format=json --benchmark_repetitions=5 "
                             "--benchmark_report_aggregates_only=true") for program in MICRO],
                    [command(f"{program} --benchmark_format=json --benchmark_min_time=0.05") for program in MICRO], "micro"),
}

def commands_of(name, quick, out="{out}"):
    record = RECORDS[name]
    return [[word.replace("{out}", out) for word in words] for words in (record.quick if quick else record.full)]


def seeds_of(commands):
    """Those that are said; the others are each program's default."""
    found = [int(word.removeprefix("--seed=")) for words in commands for word in words if word.startswith("--seed=")]
    return list(dict.fromkeys(found))
