/* SPDX-License-Identifier: Apache-2.0 */
#include "api/language.h"

#include "base/attr.h"

static const struct {
    const char *key;
    const char *words[LANGUAGE_COUNT_];
} table[] = {
    {"title", {"Inferometer", "Inferometer"}},
    {"version", {"version", "版本"}},
    {"state", {"state", "状态"}},
    {"state=serving", {"serving", "服务中"}},
    {"state=draining", {"draining", "正在排空"}},
    {"started", {"started", "启动时间"}},
    {"uptime_s", {"uptime (s)", "运行时间（秒）"}},
    {"pid", {"process", "进程"}},
    {"config_file", {"configuration", "配置文件"}},
    {"workers", {"workers", "工作线程"}},
    {"in_flight", {"in flight", "进行中"}},
    {"client_connections", {"client connections", "客户端连接"}},
    {"upstream_connections", {"upstream connections", "上游连接"}},
    {"listeners", {"listeners", "监听地址"}},
    {"address", {"address", "地址"}},
    {"for", {"for", "用途"}},
    {"for=clients", {"clients", "客户端"}},
    {"for=admin", {"administration", "管理"}},
    {"tls", {"TLS", "TLS"}},
    {"upstreams", {"upstreams", "上游"}},
    {"name", {"name", "名称"}},
    {"url", {"URL", "URL"}},
    {"waiting", {"waiting", "排队"}},
    {"waiting_batch", {"waiting (batch)", "排队（批量）"}},
    {"rejected", {"rejected", "已拒绝"}},
    {"breaker", {"breaker", "熔断器"}},
    {"breaker=closed", {"closed", "关闭"}},
    {"breaker=open", {"open", "断开"}},
    {"breaker=half_open", {"half open", "半开"}},
    {"failures_in_row", {"failures in a row", "连续失败"}},
    {"last_reload", {"last reload", "上次重新加载"}},
    {"at", {"at", "时间"}},
    {"status", {"result", "结果"}},
    {"status=reloaded", {"taken over", "已生效"}},
    {"status=refused", {"refused", "已拒绝"}},
    {"file", {"file", "文件"}},
    {"changed", {"changed", "变更"}},
    {"error", {"error", "错误"}},
    {"hint", {"hint", "提示"}},
    {"mistakes", {"mistakes", "配置错误"}},
    {"n_more_mistakes", {"more mistakes", "其余错误"}},
    {"needs_restart", {"needs a restart", "需要重启"}},
    {"where", {"where", "位置"}},
    {"line", {"line", "行"}},
    {"column", {"column", "列"}},
    {"message", {"message", "说明"}},
    {"history", {"history", "历史数据"}},
    {"state=writing", {"writing", "写入中"}},
    {"state=waiting", {"waiting for the former process", "等待上一个进程退出"}},
    {"state=failing", {"cannot be written", "无法写入"}},
    {"series", {"series", "时间序列"}},
    {"series_disk_bytes", {"series on disk (bytes)", "时间序列磁盘占用（字节）"}},
    {"rows_written", {"requests written", "已写入请求"}},
    {"rows_disk_bytes", {"requests on disk (bytes)", "请求磁盘占用（字节）"}},
    {"rows_waiting", {"requests that wait", "待写入请求"}},
    {"rows_lost", {"requests lost", "丢失的请求"}},
    {"interval_s", {"sampled every (s)", "采样间隔（秒）"}},
    {"keep_raw_s", {"samples are kept for (s)", "原始样本保留（秒）"}},
    {"keep_5m_s", {"those of 5 min (s)", "5 分钟样本保留（秒）"}},
    {"keep_1h_s", {"those of 1 h (s)", "1 小时样本保留（秒）"}},
    {"keep_requests_s", {"requests are kept for (s)", "请求保留（秒）"}},
    {"series_max_disk_bytes", {"series at most (bytes)", "时间序列磁盘上限（字节）"}},
    {"rows_max_disk_bytes", {"requests at most (bytes)", "请求磁盘上限（字节）"}},
    {"rules", {"rules", "规则"}},
    {"state=running", {"evaluated", "正在计算"}},
    {"state=stopped", {"not evaluated: no history to read", "未计算：无法读取历史数据"}},
    {"groups", {"groups", "规则组"}},
    {"alerts", {"alerts", "告警"}},
    {"alerts_pending", {"alerts that wait for their time", "等待触发的告警"}},
    {"alerts_firing", {"alerts that fire", "触发中的告警"}},
    {"evaluations_failed", {"evaluations that failed", "计算失败次数"}},
    {"evaluations_missed", {"moments missed", "错过的计算次数"}},
    {"active", {"under delivery", "投递中"}},
    {"silences", {"silences", "静默"}},
    {"deliveries_waiting", {"messages that wait", "待投递消息"}},
    {"deliveries_failed", {"attempts that failed", "投递失败次数"}},
    {"incidents", {"incidents", "事故"}},
    {"open", {"going on", "进行中的事故"}},
    {"waiting_for_curves", {"curves still being written", "曲线尚在记录的事故"}},
    {"unsaved", {"not on disk yet", "尚未写入磁盘"}},
    {"lost", {"lost", "丢失"}},
    {"drops", {"drops", "丢弃"}},
    {"cause", {"cause", "原因"}},
    {"n", {"count", "数量"}},
    {"true", {"yes", "是"}},
    {"false", {"no", "否"}},
    {"none", {"none", "无"}},
    {"pages", {"pages", "页面"}},
    {"login", {"Log in", "登录"}},
    {"login_token", {"Token", "令牌"}},
    {"login_wrong", {"This is no token of this gateway.", "这不是本网关的令牌。"}},
    {"login_about",
     {"The token stands in the file that admin.token_file or admin.read_token_file of the "
      "configuration names.",
      "令牌写在配置项 admin.token_file 或 admin.read_token_file 所指的文件中。"}},
    {"stale", {"no answer; these are old values", "没有响应，显示的是旧数据"}},
};

/* "q=0.8" in thousandths; without it 1000. */
static int weight_of(struct span parameters)
{
    int weight = 0, unit = 1000;
    struct span q = span_trim(parameters);

    if (!span_starts_with(q, SPAN("q=")))
        return unit;
    for (size_t i = 2; i < q.n && unit > 0; i++) {
        if (q.p[i] == '.')
            continue;
        if (q.p[i] < '0' || q.p[i] > '9')
            return 0;
        weight += (q.p[i] - '0') * unit;
        unit /= 10;
    }
    return weight;
}

static bool is_tag_of(struct span tag, struct span primary)
{
    return span_eq_nocase(span_split(&tag, '-'), primary);
}

enum language language_choose(struct span accept_language)
{
    enum language best = LANGUAGE_EN;
    int best_weight = 0;

    while (accept_language.n > 0) {
        struct span rest = span_split(&accept_language, ',');
        struct span tag = span_trim(span_split(&rest, ';'));
        bool is_zh = is_tag_of(tag, SPAN("zh"));
        int weight = weight_of(rest);

        if (weight <= best_weight || (!is_zh && !is_tag_of(tag, SPAN("en"))))
            continue;
        best = is_zh ? LANGUAGE_ZH : LANGUAGE_EN;
        best_weight = weight;
    }
    return best;
}

const char *language_tag(enum language l)
{
    return l == LANGUAGE_ZH ? "zh-CN" : "en";
}

struct span language_word(enum language l, struct span key)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (span_eq(key, span_cstr(table[i].key)))
            return span_cstr(table[i].words[l]);
    return key;
}

void language_words(enum language l, struct jsonw *w)
{
    jsonw_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        jsonw_put_cstr(w, table[i].key, table[i].words[l]);
    }
    jsonw_end_object(w);
}
