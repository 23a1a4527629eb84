/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/definitions_figures.c - what the figures of pages mean that are no metric or field as such.
 */
#include "api/definitions.h"

#include "base/attr.h"

const struct definition_figure definitions_figures[] = {
    {
        .key = "qps",
        .unit = "requests/s",
        .title = {"Requests per second", "每秒请求数"},
        .text = {"Requests that ended in the window, divided by its length.",
                 "窗口内结束的请求数除以窗口长度。"},
    },
    {
        .key = "error_ratio",
        .unit = "ratio",
        .title = {"Share of failures", "失败比例"},
        .text = {"Requests whose outcome is not ok, of all in the window. What clients broke off "
                 "or asked for wrongly is shown as outcomes of its own.",
                 "窗口内结果不是 ok 的请求所占比例。客户端中断或请求有误的另列为各自的结果。"},
    },
    {
        .key = "quantile",
        .unit = "",
        .title = {"Quantile", "分位数"},
        .text = {"p99 is the value that 99 % of the samples stay at or below. Read from "
                 "histograms: exact to the width of the bucket that it lies in.",
                 "p99 指 99 % 的样本不超过的值。由直方图得出，精确到所在桶的宽度。"},
    },
    {
        .key = "queue",
        .unit = "s",
        .title = {"Queue", "排队"},
        .text = {"Time in the gateway's own admission queue; 0 where no limit holds requests back.",
                 "在网关自身准入队列中的时间；没有限额时为 0。"},
    },
    {
        .key = "ttft",
        .unit = "s",
        .title = {"Time to first token (TTFT)", "首 token 时间（TTFT）"},
        .text = {"From the last byte of the request to the first output event of the stream. "
                 "Requests that never got one are not in it: see streams without a first token.",
                 "从请求的末字节到流的首个输出事件。始终没有首 token 的请求不在其中，见“没有首 "
                 "token 的流”。"},
    },
    {
        .key = "tpot",
        .unit = "s",
        .title = {"Time per output token (TPOT)", "每输出 token 时间（TPOT）"},
        .text = {"Time from the first token to the last, divided by the tokens behind the first; "
                 "one sample per request.",
                 "从首 token 到末 token 的时间除以首 token 之后的 token 数；每个请求一个样本。"},
    },
    {
        .key = "itl",
        .unit = "s",
        .title = {"Inter-token latency (ITL)", "token 间延迟（ITL）"},
        .text = {"Gaps between arrivals, weighted by the tokens that arrived behind them.",
                 "相邻到达的间隔，按随后到达的 token 数加权。"},
    },
    {
        .key = "e2e",
        .unit = "s",
        .title = {"End to end (E2E)", "端到端（E2E）"},
        .text = {"From the last byte of the request to the end of the answer.",
                 "从请求的末字节到响应结束。"},
    },
    {
        .key = "jitter",
        .unit = "s",
        .title = {"Jitter", "抖动"},
        .text = {"p95 less p50 of the gaps of one stream.", "一个流内间隔的 p95 减 p50。"},
    },
    {
        .key = "stalls",
        .unit = "1/s",
        .title = {"Stalls", "停顿"},
        .text = {"Gaps over 1 s and over ten times the median gap of their stream.",
                 "超过 1 s 且超过该流中位间隔十倍的间隔。"},
    },
    {
        .key = "no_first_token",
        .unit = "1/s",
        .title = {"Streams without a first token", "没有首 token 的流"},
        .text = {"Streams that ended before any output, by reason. They are missing from TTFT.",
                 "在任何输出之前结束的流，按原因。它们不在 TTFT 中。"},
    },
    {
        .key = "overhead",
        .unit = "s",
        .title = {"Own overhead", "自身开销"},
        .text = {"What the gateway itself adds before a request is sent on, and before an event is "
                 "passed on.",
                 "网关自身在发出请求之前、在转发事件之前增加的时间。"},
    },
    {
        .key = "unattributed",
        .unit = "s",
        .title = {"Unattributed", "未归属"},
        .text = {"Upstream TTFT less what the engine tells of its queue and prefill: network, "
                 "HTTP, tokenising.",
                 "上游 TTFT 减去引擎自述的排队与 prefill：网络、HTTP、分词。"},
    },
    {
        .key = "baseline",
        .unit = "",
        .title = {"Baseline", "基线"},
        .text = {"The usual value at this time of day and week, with its usual spread, from the "
                 "history. A stage has left it when it stays outside of that spread.",
                 "历史中同一时段的通常值及其通常波动。某阶段持续超出该波动即为偏离基线。"},
    },
    {
        .key = "heat_map",
        .unit = "1/s",
        .title = {"Heat map", "热力图"},
        .text = {"Each cell: how many samples per second fell into that bucket of the histogram in "
                 "that step of time.",
                 "每格：该时间步内每秒落入直方图该桶的样本数。"},
    },
    {
        .key = "batch_size",
        .unit = "requests",
        .title = {"Batch size", "批大小"},
        .text = {"Requests in the engine's running batch, as the engine tells.",
                 "引擎自述的运行批次中的请求数。"},
    },
    {
        .key = "prompt_band",
        .unit = "",
        .title = {"Prompt band", "prompt 区间"},
        .text =
            {"Requests by the size of their prompt: up to 1k, 4k, 16k, 32k, 128k tokens, or more.",
             "按 prompt 大小分组的请求：不超过 1k、4k、16k、32k、128k 个 token，或更大。"},
    },
    {
        .key = "cached_band",
        .unit = "",
        .title = {"Cached band", "缓存区间"},
        .text = {"Requests by the part of their prompt that came from the cache: unknown, none, "
                 "less than half, half or more.",
                 "按 prompt 来自缓存的比例分组的请求：未知、没有、不到一半、一半及以上。"},
    },
    {
        .key = "tokens_per_second",
        .unit = "tokens/s",
        .title = {"Tokens per second", "每秒 token 数"},
        .text = {"Tokens as engines reported them, counted when their request ends.",
                 "引擎报告的 token 数，在请求结束时计入。"},
    },
    {
        .key = "tokens_per_request",
        .unit = "tokens",
        .title = {"Tokens per request", "每请求 token 数"},
        .text = {"Quantiles over requests, of those whose usage the engine reported. Looked at "
                 "beside the number of requests: more of them, or heavier ones?",
                 "引擎报告了用量的请求的分位数。与请求数一起看：是请求变多了，还是变重了？"},
    },
    {
        .key = "cache_hit_ratio",
        .unit = "ratio",
        .title = {"Cache hit rate", "缓存命中率"},
        .text = {"Cached prompt tokens of all prompt tokens, as reported.",
                 "报告的 prompt token 中来自缓存的比例。"},
    },
    {
        .key = "tokens_per_gpu_second",
        .unit = "tokens/s",
        .title = {"Tokens per GPU second", "每 GPU 秒 token 数"},
        .text = {"Prompt and completion tokens per second, divided by the number of GPUs that are "
                 "seen.",
                 "每秒 prompt 与 completion token 数除以可见的 GPU 数。"},
    },
    {
        .key = "cost",
        .unit = "",
        .title = {"Cost", "费用"},
        .text = {"Tokens times the price table of the configuration: prompt tokens less cached "
                 "ones at the prompt price, cached ones at theirs, completion tokens at theirs. "
                 "Models without a price are left out.",
                 "token 数乘以配置的价格表：非缓存的 prompt token 按 prompt "
                 "价，缓存的按缓存价，completion token 按其价。没有价格的模型不计。"},
    },
    {
        .key = "gpu_utilization",
        .unit = "ratio",
        .title = {"GPU utilisation", "GPU 利用率"},
        .text = {"Part of the time in which some kernel ran. High does not mean that the GPU does "
                 "all that it could.",
                 "有内核在运行的时间比例。高不等于 GPU 已尽其所能。"},
    },
    {
        .key = "kv_cache",
        .unit = "ratio",
        .title = {"KV cache in use", "KV 缓存占用"},
        .text = {"Part of the engine's KV cache in use; what can be evicted counts as free.",
                 "引擎 KV 缓存已用比例；可逐出的算空闲。"},
    },
    {
        .key = "engine_waiting",
        .unit = "requests",
        .title = {"Waiting in engines", "引擎内等待"},
        .text = {"Requests that engines hold and have not scheduled, as they tell.",
                 "引擎自述：已收下而未被调度的请求数。"},
    },
    {
        .key = "in_flight",
        .unit = "requests",
        .title = {"In flight", "进行中"},
        .text = {"Requests that have arrived and are not finished.", "已到达而未结束的请求数。"},
    },
    {
        .key = "preemptions",
        .unit = "1/s",
        .title = {"Preemptions", "抢占"},
        .text = {"Running requests that an engine took out of its batch for lack of KV memory.",
                 "引擎因 KV 内存不足而移出批次的运行中请求。"},
    },
    {
        .key = "slo_attainment",
        .unit = "ratio",
        .title = {"Attainment", "达成率"},
        .text = {"Requests that met the objective, of those that count for it.",
                 "计入该目标的请求中达到目标的比例。"},
    },
    {
        .key = "error_budget",
        .unit = "ratio",
        .title = {"Error budget left", "剩余错误预算"},
        .text = {"1 at the beginning of the window, 0 when as many requests missed the objective "
                 "as may; below 0 the objective is missed.",
                 "窗口开始时为 1；未达标的请求数达到允许值时为 0；低于 0 即未达成目标。"},
    },
    {
        .key = "burn_rate",
        .unit = "",
        .title = {"Burn rate", "燃烧率"},
        .text = {"Share of requests that miss the objective, divided by the share that may. At 1 "
                 "the budget lasts exactly as long as the window; at 14.4 a budget of 30 days is "
                 "gone in 50 hours.",
                 "未达标请求的比例除以允许的比例。为 1 时预算恰好用到窗口结束；为 14.4 时 30 "
                 "天的预算 50 小时用完。"},
    },
    {
        .key = "alert_pending",
        .unit = "",
        .title = {"Pending", "等待中"},
        .text = {"The condition of the rule holds, but not yet for as long as \"for\" says.",
                 "规则条件成立，但尚未达到 for 所要求的时长。"},
    },
    {
        .key = "alert_firing",
        .unit = "",
        .title = {"Firing", "触发中"},
        .text = {"The condition has held for long enough: receivers are told, unless it is "
                 "silenced or inhibited.",
                 "条件已持续足够久：会通知接收方，除非被静默或抑制。"},
    },
    {
        .key = "alert_silenced",
        .unit = "",
        .title = {"Silenced", "已静默"},
        .text = {"A silence matches the alert: it goes on, and nobody is told.",
                 "有静默匹配该告警：告警继续，但不通知任何人。"},
    },
    {
        .key = "incident",
        .unit = "",
        .title = {"Incident", "事故"},
        .text = {"From the first alert of tier P0 or P1 until 5 minutes after the last one, with "
                 "what was seen meanwhile.",
                 "从第一个 P0 或 P1 告警到最后一个结束后 5 分钟，连同其间的观察。"},
    },
    {
        .key = "noise",
        .unit = "",
        .title = {"Noise", "噪声"},
        .text = {"Somebody said that the alert needed nobody.",
                 "有人标记：该告警不需要任何人处理。"},
    },
    {
        .key = "target_health",
        .unit = "",
        .title = {"Target", "目标"},
        .text = {"up: the last scrape was good. down: it was not, with the reason. Unknown before "
                 "the first one.",
                 "up：最近一次抓取成功。down：失败，并给出原因。首次抓取前未知。"},
    },
    {
        .key = "signal_missing",
        .unit = "",
        .title = {"Missing signal", "缺失的信号"},
        .text = {"A signal that the engine's page does not tell: it was renamed (drifted), should "
                 "be there (absent), has no values (no_data), other versions have it (version), or "
                 "none has (never).",
                 "引擎页面没有给出的信号：已改名（drifted）、本应有（absent）、没有值（no_"
                 "data）、其他版本才有（version）或从来没有（never）。"},
    },
    {
        .key = "coverage_ttft",
        .unit = "ratio",
        .title = {"Streams with a first token", "有首 token 的流"},
        .text =
            {"Streams in which a first token was seen, of all answered streams of known dialects.",
             "已知方言的流式响应中见到首 token 的比例。"},
    },
    {
        .key = "coverage_usage",
        .unit = "ratio",
        .title = {"Streams with usage", "有用量的流"},
        .text = {"Streams for which the engine reported token usage, of all answered streams of "
                 "known dialects.",
                 "已知方言的流式响应中引擎报告了 token 用量的比例。"},
    },
    {
        .key = "drops",
        .unit = "1/s",
        .title = {"Dropped data", "丢弃的数据"},
        .text = {"Data that was lost or folded into a coarser series, by cause. Traffic itself is "
                 "not concerned.",
                 "丢失或并入更粗序列的数据，按原因。不影响流量本身。"},
    },
    {
        .key = "series",
        .unit = "series",
        .title = {"Series", "时间序列"},
        .text =
            {"Series that count against the limit; beyond it new label values become \"other\".",
             "计入上限的序列数；超过后新的标签值并入 other。"},
    },
    {
        .key = "store_size",
        .unit = "bytes",
        .title = {"Store", "存储"},
        .text = {"What series and request rows take on disk.", "时间序列与请求行占用的磁盘空间。"},
    },
    {
        .key = "retention",
        .unit = "s",
        .title = {"Retention", "保留期"},
        .text = {"How long samples of each resolution, and request rows, are kept; less where a "
                 "limit of disk space is reached first.",
                 "各分辨率样本与请求行的保留时长；先达到磁盘上限时更短。"},
    },
    {
        .key = "clock_offset",
        .unit = "s",
        .title = {"Clock offset", "时钟偏差"},
        .text = {"What is still to be corrected of this machine's clock, as the kernel tells.",
                 "内核给出的本机时钟尚待修正的量。"},
    },
    {
        .key = "freshness",
        .unit = "s",
        .title = {"Age of the data", "数据的新旧"},
        .text = {"Time since the newest sample. Pages call data stale when it is older than three "
                 "intervals.",
                 "距最新样本的时间。超过三个采样间隔时页面标为过期。"},
    },
};
const size_t definitions_figures_n = ARRAY_LEN(definitions_figures);
