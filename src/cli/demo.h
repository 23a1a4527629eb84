/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

int demo_main(int argc, char **argv);

#endif
