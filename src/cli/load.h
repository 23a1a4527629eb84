/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

int load_main(int argc, char **argv);

#endif
