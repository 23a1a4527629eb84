/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

int serve_main(int argc, char **argv);

#endif
