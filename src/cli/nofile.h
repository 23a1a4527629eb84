/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_NOFILE_H
#define CLI_NOFILE_H

/* Every connection is a descriptor: raises the soft limit to what the system allows. Start-up. */
void nofile_raise(void);

#endif
