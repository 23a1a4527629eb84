/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_private.h - what the tables of map_*.c have in common.
 *
 * Threading: constant.
 */
#ifndef ENGINE_MAP_PRIVATE_H
#define ENGINE_MAP_PRIVATE_H

#include "base/attr.h"
#include "engine/map.h"

/* Cells of tables. */
#define V(a, b, c)       ENGINE_VERSION(a, b, c)
#define P(a, b, c, post) ENGINE_POST(a, b, c, post)
#define OPTIONAL         ENGINE_NAME_OPTIONAL
#define HIDDEN           ENGINE_NAME_HIDDEN
#define V0               ENGINE_NAME_V0
#define V1               ENGINE_NAME_V1

/* A part of a source: a metric, or those of its samples that match. */
#define M(name)                                                                                    \
    {                                                                                              \
        .metric = (name)                                                                           \
    }
#define OF(name, matcher)                                                                          \
    {                                                                                              \
        .metric = (name), .select = (matcher)                                                      \
    }

void map_print_release(engine_version v, char *dst); /* 0.10.2, 0.8.5.post1, 0.15.x */
void map_print_month(engine_version v, char *dst);   /* 23.11 */

extern const struct engine_map map_vllm, map_sglang, map_tgi, map_llamacpp, map_triton,
    map_triton_trtllm, map_trtllm, map_lmdeploy, map_localai, map_dynamo, map_ray_serve, map_dcgm,
    map_nvidia_gpu, map_amd, map_kafka;

/* Large tables have files of their own; a row more or less is told by the compiler or a test. */
enum { MAP_VLLM_NAMES = 152, MAP_SGLANG_NAMES = 204, MAP_EXPECTED_OF_ENGINE = 17 };
extern const struct engine_name map_vllm_names[MAP_VLLM_NAMES];
extern const struct engine_name map_sglang_names[MAP_SGLANG_NAMES];
/* What every engine should tell. */
extern const enum signal map_expected_of_engine[MAP_EXPECTED_OF_ENGINE];

#endif
