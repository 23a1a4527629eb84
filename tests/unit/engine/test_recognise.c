/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines and versions of a page, why a signal is missing, and what is said about odd pages.
 */
#include "enginepage.h"

#include <string.h>

#include "base/attr.h"

/* --- versions --- */

static const struct {
    const char *name, *page, *engine, *edition, *since, *until;
} versions[] = {
    {"an engine label is V1", "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 1\n",
     "vllm", "V1", "0.8.3", ""},
    {"no label at all is no evidence (Triton's backend has others)",
     "vllm:inter_token_latency_seconds 1\nvllm:num_requests_running{model=\"m\",version=\"1\"} 1\n",
     "vllm", NULL, "0.10.2", ""},
    {"swapped is V0", "vllm:num_requests_swapped{model_name=\"m\"} 0\n", "vllm", "V0", "0.2.3",
     "0.9.0.1"},
    {"hidden names in a version that hides them",
     "vllm:request_time_per_output_token_seconds{engine=\"0\"} 1\n"
     "vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 1\n",
     "vllm", "V1", "0.11.0", "0.11.1"},
    {"by source", "vllm:prompt_tokens_by_source_total{source=\"local_compute\"} 1\n", "vllm", "V1",
     "0.16.0", ""},
    {"by reason", "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 1\n", "vllm", "V1",
     "0.20.0", ""},
    {"what Ray puts in front", "ray_vllm:num_requests_running{model_name=\"m\"} 1\n", "vllm", NULL,
     "0.3.3", "0.10.x"},
    {"and later", "ray_vllm_num_requests_running{model_name=\"m\",engine=\"0\"} 1\n", "vllm", "V1",
     "0.11.0", ""},
    {"SGLang by a label that is there",
     "sglang:num_running_reqs{model_name=\"m\",engine_type=\"u\","
     "tp_rank=\"0\",moe_ep_rank=\"0\"} 1\n",
     "sglang", NULL, "0.5.7", ""},
    {"and by one that is not", "sglang:num_running_reqs{model_name=\"m\",engine_type=\"u\"} 1\n",
     "sglang", NULL, "0.4.3.post4", "0.4.9.post2"},
    {"retractions of two kinds", "sglang:total_retracted_reqs{model_name=\"m\"} 1\n", "sglang",
     NULL, "0.4.9.post3", "0.5.2"},
    {"builds", "llamacpp:kv_cache_usage_ratio 0.5\n", "llama.cpp", NULL, "b2259", "b5440"},
    {"between two renames", "llamacpp:n_past_max 5\n", "llama.cpp", NULL, "b6189", "b6893"},
    {"LMDeploy", "lmdeploy:num_requests_finished 1\n", "lmdeploy", NULL, "0.9.2", "0.12.0"},
    {"bytes that were bytes before 4.9", "DCGM_FI_PROF_PCIE_TX_BYTES 1\n", "dcgm-exporter", NULL,
     "", ""},
    {"bytes of 4.9", "DCGM_FI_DEV_FB_USED_BYTES 1\n", "dcgm-exporter", NULL, "4.9.0", ""},
};

static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        char text[ENGINE_VERSION_TEXT_MAX];
        struct enginepage p;

        enginepage_read(&p, span_cstr(versions[i].page));
        assert_row(versions[i].name, p.page.n_engines == 1);
        const struct engine_found *e = &p.page.engines[0];
        assert_string_equal(e->map->name, versions[i].engine);
        assert_span_equal(versions[i].name, span_cstr(enginepage_version(e, e->since, text)),
                          span_cstr(versions[i].since));
        assert_span_equal(versions[i].name, span_cstr(enginepage_version(e, e->until, text)),
                          span_cstr(versions[i].until));
        assert_span_equal(versions[i].name, span_cstr(e->edition), span_cstr(versions[i].edition));
        assert_row(versions[i].name, !e->is_mixed && !p.page.remark);
        enginepage_done(&p);
    }
}

static void test_because(void **state)
{
    struct enginepage p;
    (void)state;
    enginepage_read(&p, SPAN("ray_vllm_request_time_per_output_token_seconds{engine=\"0\"} 1\n"
                             "ray_vllm_time_per_output_token_seconds{engine=\"0\"} 1\n"));
    const struct engine_found *e = &p.page.engines[0];
    static const char *const want[] = {
        "names begin with ray_vllm_",
        "ray_vllm_request_time_per_output_token_seconds is there",
        "ray_vllm_time_per_output_token_seconds is there",
    };
    assert_int_equal(e->n_because, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(e->because[i], want[i]);
    enginepage_done(&p);
}

/* Two versions behind one address: the nearest one, and a remark. */
static void test_mixed(void **state)
{
    struct enginepage p;
    (void)state;
    enginepage_read(&p, SPAN("vllm:num_requests_swapped 0\nvllm:kv_cache_usage_perc 0.5\n"
                             "vllm:prompt_tokens_by_source_total 1\n"));
    assert_true(p.page.engines[0].is_mixed);
    assert_non_null(strstr(p.page.remark, "no version of vLLM has all of these names"));
    enginepage_done(&p);
}

/* --- missing --- */

static const struct {
    const char *name, *page;
    enum signal signal;
    enum missing_cause cause;
    const char *why; /* a part of it */
} missing[] = {
    {"comes later", "vllm:num_requests_swapped 0\n", SIGNAL_TPOT, MISSING_VERSION,
     "told from 0.11.0 on, by vllm:request_time_per_output_token_seconds"},
    {"is gone", "llamacpp:n_tokens_max 1\n", SIGNAL_KV_USAGE, MISSING_VERSION,
     "not told since b5440, the last with llamacpp:kv_cache_usage_ratio"},
    {"between two names",
     "sglang:queue_time_seconds 1\nsglang:is_cuda_graph 1\n"
     "sglang:num_running_reqs{model_name=\"m\",engine_type=\"u\",tp_rank=\"0\"} "
     "1\n",
     SIGNAL_PREEMPTIONS, MISSING_VERSION, "told from 0.5.7 on"},
    {"never", "tgi_queue_size 1\n", SIGNAL_TTFT, MISSING_NEVER, "come near"},
    {"not exported", "sglang:num_running_reqs 1\n", SIGNAL_DECODE, MISSING_NEVER,
     "it is traced, not exported"},
    {"only declared", "# TYPE vllm:num_preemptions_total counter\nvllm:num_requests_running 1\n",
     SIGNAL_PREEMPTIONS, MISSING_NO_DATA, "is declared and has no sample yet"},
    {"another type",
     "# TYPE vllm:time_to_first_token_seconds gauge\n"
     "vllm:time_to_first_token_seconds 1\n",
     SIGNAL_TTFT, MISSING_NO_DATA, "is of another type here: gauge"},
    {"no stage of that name",
     "# TYPE sglang:per_stage_req_latency_seconds histogram\n"
     "sglang:per_stage_req_latency_seconds_bucket{stage=\"a\",le=\"+Inf\"} 1\n",
     SIGNAL_PREFILL, MISSING_NO_DATA, "has no sample with stage=\"prefill_forward\""},
    {"not available", "DCGM_FI_DEV_GPU_TEMP 9223372036854775794\nDCGM_FI_DEV_SM_CLOCK 1\n",
     SIGNAL_GPU_TEMP, MISSING_NO_DATA, "say \"not available\""},
    {"unknown lags", "kafka_consumergroup_lag{consumergroup=\"g\"} -1\n", SIGNAL_CONSUMER_LAG,
     MISSING_NO_DATA, "all samples of kafka_consumergroup_lag say \"not available\""},
    {"half of a ratio", "trtllm_kv_cache_used_blocks 1\n", SIGNAL_RUNNING, MISSING_ABSENT,
     "trtllm_num_requests_running is not there"},
    {"a part of a page", "vllm:num_requests_running 1\n", SIGNAL_WAITING, MISSING_ABSENT,
     "only a part of a page"},
    {"hidden",
     "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 1\n"
     "vllm:engine_sleep_state 1\nvllm:gpu_prefix_cache_hits_total 1\n",
     SIGNAL_KV_USAGE, MISSING_ABSENT, "vllm:kv_cache_usage_perc is not there"},
    {"a matter of configuration", "DCGM_FI_DEV_SM_CLOCK 1\n", SIGNAL_GPU_UTIL, MISSING_ABSENT,
     "its file of counters decides what is there"},
};

static void test_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        struct enginepage p;

        enginepage_read(&p, span_cstr(missing[i].page));
        const struct signal_missing *m = enginepage_missing(&p, missing[i].signal);
        assert_row(missing[i].name, m != NULL);
        if (!m || m->cause != missing[i].cause || !strstr(m->why, missing[i].why))
            fail_msg("%s: cause %d, %s", missing[i].name, m ? (int)m->cause : -1, m ? m->why : "");
        enginepage_done(&p);
    }
}

static void test_told_is_not_missing(void **state)
{
    struct enginepage p;
    (void)state;
    /* What a wrapper tells is not missed of the engine. */
    enginepage_read(&p, SPAN("trtllm_request_success_total 1\n"
                             "dynamo_component_kvstats_gpu_cache_usage_percent 0.5\n"));
    assert_int_equal(p.page.n_engines, 2);
    assert_null(enginepage_missing(&p, SIGNAL_KV_USAGE));
    assert_null(enginepage_missing(&p, SIGNAL_SUCCESS));
    assert_non_null(enginepage_missing(&p, SIGNAL_TTFT));
    enginepage_done(&p);
    /* Two engines tell for themselves. */
    enginepage_read(&p, SPAN("vllm:kv_cache_usage_perc 0.5\nsglang:num_running_reqs 1\n"));
    assert_int_equal(p.page.n_engines, 2);
    const struct signal_missing *kv = enginepage_missing(&p, SIGNAL_KV_USAGE);
    const struct signal_missing *running = enginepage_missing(&p, SIGNAL_RUNNING);
    assert_true(kv && kv->engine == &p.page.engines[1]);
    assert_true(running && running->engine == &p.page.engines[0]);
    enginepage_done(&p);
}

/* --- names --- */

static void test_names(void **state)
{
    struct enginepage p;
    (void)state;
    enginepage_read(&p, SPAN("vllm:num_requests_running 1\nvllm:brand_new 1\n"
                             "vllm:gpu_cache_usage_ratio 1\n# TYPE vllm:declared gauge\n"
                             "vllm:prompt_tokens_created 1\nvllm:e2e_request_latency_seconds 1\n"
                             "vllm:e2e_request_latency_seconds_created 1\n"
                             "process_open_fds 3\nlmcache:num_hits 1\nhttp_requests_total 1\n"));
    assert_int_equal(p.page.n_unknown, 2);
    assert_span_equal("sorted", p.page.unknown[0], SPAN("vllm:brand_new"));
    assert_span_equal("sorted", p.page.unknown[1], SPAN("vllm:gpu_cache_usage_ratio"));
    assert_int_equal(p.page.n_foreign, 2);
    enginepage_done(&p);
}

static void test_several_engines(void **state)
{
    struct enginepage p;
    (void)state;
    enginepage_read(&p, SPAN("nv_trt_llm_request_metrics{request_type=\"scheduled\"} 1\n"
                             "nv_inference_request_success 2\nnv_cpu_utilization 0.5\n"
                             "nv_inference_pending_request_count 3\n"));
    assert_int_equal(p.page.n_engines, 2);
    assert_string_equal(p.page.engines[0].map->name, "triton-tensorrtllm");
    assert_string_equal(p.page.engines[1].map->name, "triton");
    assert_int_equal(p.page.n_unknown, 1);
    enginepage_done(&p);
}

static void test_notes(void **state)
{
    struct enginepage p;
    (void)state;
    enginepage_read(
        &p, SPAN("nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\"} 1\n"
                 "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} 6239\n"
                 "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"} 0.4875\n"));
    assert_int_equal(p.page.signals[0].signal, SIGNAL_KV_USAGE);
    assert_non_null(strstr(p.page.signals[0].note, "wrong labels"));
    enginepage_done(&p);
    enginepage_read(&p, SPAN("llamacpp:prompt_tokens_total 1\n"));
    assert_true((p.page.signals[0].source->flags & ENGINE_SOURCE_NO_CACHED) != 0);
    enginepage_done(&p);
}

/* --- pages of nobody --- */

static void test_nothing(void **state)
{
    static const struct {
        const char *page, *remark;
    } rows[] = {
        {"python_info 1\nhttp_requests_total 3\nprocess_open_fds 5\n", "--disable-log-stats"},
        {"# TYPE vllm:num_requests_running gauge\n", "vLLM declares metrics"},
        {"", "no sample"},
        {"node_load1 0.5\n", "no metrics of an engine"},
        {"gpu_usage{room=\"a\"} 3\n", "no metrics of an engine"},
        /* One general name is not enough for a page without a prefix. */
        {"request_success_total 1\n", "no metrics of an engine"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct enginepage p;

        enginepage_read(&p, span_cstr(rows[i].page));
        assert_int_equal(p.page.n_engines, 0);
        assert_int_equal(p.n_values, 0);
        assert_row(rows[i].page, p.page.remark && strstr(p.page.remark, rows[i].remark));
        enginepage_done(&p);
    }
}

static void test_no_page(void **state)
{
    (void)state;
    assert_non_null(strstr(engine_why_no_page(SPAN("\n {\"a\": 1}")), "JSON"));
    assert_non_null(strstr(engine_why_no_page(SPAN("[]")), "/prometheus/metrics"));
    assert_non_null(strstr(engine_why_no_page(SPAN("<!DOCTYPE html>")), "HTML"));
    assert_non_null(strstr(engine_why_no_page(SPAN(" \n")), "empty"));
    assert_null(engine_why_no_page(SPAN("# HELP a b\na 1\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_because),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_told_is_not_missing),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_several_engines),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
