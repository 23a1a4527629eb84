/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DOCS_H
#define CLI_DOCS_H

int docs_main(int argc, char **argv);

#endif
