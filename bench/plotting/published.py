"""Figures that others published, of real machines. What was read off a plot by eye is marked so, and is good to some 3 %.

No figure here was measured by this project, and none is from a simulator.
"""

# Dadgar, Phillips, Currey, "Lifeguard", arXiv 1707.00788v2 (DSN 2018), tables IV to VI: 128 agents of Consul on one machine
# of 16 cores, all 432 points of the Interval experiment ten times each, alpha 5, beta 6.
LIFEGUARD = [
    {"protocol": "SWIM", "fp_per_run": 339002 / 4320, "fp_at_healthy_per_run": 1326 / 4320, "first": (12.44, 16.96, 19.40),
     "full": (12.90, 16.93, 20.17)},
    {"protocol": "LHA-Probe", "fp_per_run": 229574 / 4320, "fp_at_healthy_per_run": 436 / 4320,
     "first": (12.42, 17.75, 20.10), "full": (12.90, 17.98, 20.56)},
    {"protocol": "LHA-Suspicion", "fp_per_run": 10174 / 4320, "fp_at_healthy_per_run": 89 / 4320,
     "first": (12.42, 17.47, 25.41), "full": (12.89, 17.33, 23.80)},
    {"protocol": "Buddy System", "fp_per_run": 318935 / 4320, "fp_at_healthy_per_run": 591 / 4320,
     "first": (12.45, 17.12, 19.16), "full": (12.92, 17.18, 19.81)},
    {"protocol": "Lifeguard", "fp_per_run": 5193 / 4320, "fp_at_healthy_per_run": 25 / 4320, "first": (12.45, 17.90, 21.20),
     "full": (12.91, 18.05, 21.68)},
]

# Suresh et al., "Stable and Consistent Membership at Scale with Rapid", USENIX ATC 2018: figure 5, READ OFF THE PLOT, until
# all of N processes on 100 machines report N; and table 1 (printed), how many different sizes were reported meanwhile.
RAPID_BOOTSTRAP = {  # N: (seconds, sizes)
    "ZooKeeper": {1000: (33, 1000), 1500: (80, 1500), 2000: (165, 2000)},
    "memberlist": {1000: (46, 901), 1500: (68, 1383), 2000: (97, 1858)},
    "Rapid": {1000: (30, 4), 1500: (40, 8), 2000: (53, 4)},
}
# The same paper, table 2 (printed): KB/s received and sent by one process of 1,000, in the run with ten crashes.
RAPID_BANDWIDTH = {
    "ZooKeeper": {"rx": (0.43, 17.52, 38.86), "tx": (0.01, 0.33, 0.67)},
    "memberlist": {"rx": (0.54, 5.61, 7.36), "tx": (0.64, 6.40, 8.04)},
    "Rapid": {"rx": (0.71, 3.66, 9.56), "tx": (0.71, 3.72, 11.37)},
}  # mean, 99 %, most

# Das, Gupta, Motivala, "SWIM", DSN 2002, section 5.3 and figure 4 (printed): of 17 processes that joined one by one at 10 %
# loss so many were in the stable group.
SWIM_JOINERS = {"SWIM, basic": 2, "SWIM, infection style": 4, "SWIM, and suspicion": 12}
