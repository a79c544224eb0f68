/* The variables by which the plugin speaks to the library in a task. */
#ifndef PW_SLURM_TASK_H
#define PW_SLURM_TASK_H

#define PW_TASK_PID "PROFWRAP_SLURM_TASK"        /* of the process that is to become profwrap */
#define PW_TASK_COMMAND "PROFWRAP_SLURM_COMMAND" /* words in front of the program's */
/* The user's own LD_AUDIT: behind the prefix it is the variable that it was. */
#define PW_TASK_PREFIX "PROFWRAP_SLURM_"
#define PW_TASK_AUDIT PW_TASK_PREFIX "LD_AUDIT"

/* What Open MPI's launchers put in front of each rank: version 4's, and version 5's. */
#define PW_AGENT_ORTE "OMPI_MCA_orte_fork_agent"
#define PW_AGENT_PRRTE "PRTE_MCA_prte_fork_agent"

#endif
