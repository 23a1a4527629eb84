/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SIM_H
#define CLI_SIM_H

int sim_main(int argc, char **argv);

#endif
