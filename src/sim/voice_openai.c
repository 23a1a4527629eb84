/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/voice_openai.c - chat completions, completions and embeddings, with the two engines' own
 * times that stand beside usage.
 */
#include "sim/voice.h"

static const struct ask_field chat_asks[] = {
    {"model", ASK_MODEL},
    {"stream", ASK_STREAM},
    {"stream_options", ASK_OPTIONS},
    {"stream_options.include_usage", ASK_INCLUDE_USAGE},
    {"max_tokens", ASK_MAX_TOKENS},
    {"max_completion_tokens", ASK_MAX_TOKENS},
    {"n", ASK_CHOICES},
    {"messages", ASK_PROMPT},
    {"prompt", ASK_PROMPT},
    {0},
};

static const struct ask_field embeddings_asks[] = {
    {"model", ASK_MODEL},
    {"input", ASK_INPUTS},
    {0},
};

static const struct voice_error errors[] = {
    {400, "invalid_request_error"},
    {429, "rate_limit_error"},
    {500, "server_error"},
    {0},
};

#define REFUSED "{'error':{'message':<message>,'type':'<error_type>','param':null,'code':<status>}}"

#define WITH_USAGE                                                                                 \
    ",'usage':{'prompt_tokens':<prompt>,'completion_tokens':<completion>,'total_tokens':<total>,"  \
    "'prompt_tokens_details':{'cached_tokens':<cached>},"                                          \
    "'completion_tokens_details':{'reasoning_tokens':<reasoning>}}"

#define TIMES_VLLM                                                                                 \
    ",'metrics':{'queue_time_ms':<queue_ms>,'time_to_first_token_ms':<prefill_ms>,"                \
    "'generation_time_ms':<decode_ms>,'mean_itl_ms':<itl_ms>}"

#define TIMES_LLAMACPP                                                                             \
    ",'timings':{'cache_n':<cached>,'prompt_n':<prompt_new>,'prompt_ms':<prefill_ms>,"             \
    "'prompt_per_token_ms':<prefill_token_ms>,'prompt_per_second':<prefill_rate>,"                 \
    "'predicted_n':<completion>,'predicted_ms':<decode_ms>,"                                       \
    "'predicted_per_token_ms':<decode_token_ms>,'predicted_per_second':<decode_rate>}"

/* What all streams of this family have. The prefix ends in the array of choices. */
#define COMMON_STAGES                                                                              \
    [STAGE_COMMENT] = ": keep-alive\n\n", [STAGE_USAGE] = "<prefix>]<usage><times>}\n\n",          \
    [STAGE_DONE] = "data: [DONE]\n\n",                                                             \
    [STAGE_ERROR] = "data: {'error':{'message':'simulated engine failure','type':'server_error',"  \
                    "'param':null,'code':500}}\n\n",                                               \
    [STAGE_WHOLE_END] = "]<usage><times>}", [STAGE_REFUSED] = REFUSED,                             \
    [STAGE_WITH_USAGE] = WITH_USAGE, [STAGE_NO_USAGE] = ",'usage':null",                           \
    [STAGE_TIMES_VLLM] = TIMES_VLLM, [STAGE_TIMES_LLAMACPP] = TIMES_LLAMACPP

#define DELTA(members)                                                                             \
    "<prefix>{'index':<choice>,'delta':{" members "},'logprobs':null,'finish_reason':null}]"

#define CALL "'id':'call_<id>','type':'function','function':{'name':'lookup',"

const struct voice voice_openai_chat = {
    .name = "chat",
    .stream_type = "text/event-stream; charset=utf-8",
    .asks = chat_asks,
    .missing = "\"messages\" is missing",
    .max_choices = 8,
    .is_usage_asked = true,
    .has_output = true,
    .reasons = {"stop", "length", "tool_calls"},
    .errors = errors,
    .stages =
        {
            COMMON_STAGES,
            [STAGE_PREFIX] = "data: {'id':'chatcmpl-<id>','object':'chat.completion.chunk',"
                             "'created':<created>,'model':'<model>','service_tier':'default',"
                             "'system_fingerprint':'fp_simulated0','choices':[",
            [STAGE_PRELUDE] =
                DELTA("'role':'assistant','content':'','refusal':null") "<no_usage>}\n\n",
            [STAGE_TOKEN + BLOCK_REASONING] = DELTA("'reasoning_content':'<text>'") "<usage>}\n\n",
            [STAGE_TOKEN + BLOCK_TEXT] = DELTA("'content':'<text>'") "<usage>}\n\n",
            [STAGE_TOKEN + BLOCK_REFUSAL] = DELTA("'refusal':'<text>'") "<usage>}\n\n",
            [STAGE_CALL_NAME] =
                DELTA("'tool_calls':[{'index':0," CALL "'arguments':''}}]") "<usage>}\n\n",
            [STAGE_TOKEN + BLOCK_CALL] = DELTA("'tool_calls':[{'index':0,'function':{'arguments':"
                                               "'<args_begin><text><args_end>'}}]") "<usage>}\n\n",
            [STAGE_FINISH] = "<prefix>{'index':<choice>,'delta':{},'logprobs':null,"
                             "'finish_reason':'<reason>'}]<no_usage>}\n\n",
            [STAGE_WHOLE_BEGIN] = "{'id':'chatcmpl-<id>','object':'chat.completion',"
                                  "'created':<created>,'model':'<model>','choices':[",
            [STAGE_WHOLE_CHOICE] = "{'index':<choice>,'message':{'role':'assistant'",
            [STAGE_WHOLE + BLOCK_REASONING] = ",'reasoning_content':'<all_reasoning>'",
            [STAGE_WHOLE + BLOCK_TEXT] = ",'content':'<all_text>'",
            [STAGE_WHOLE + BLOCK_REFUSAL] = ",'content':null,'refusal':'<all_text>'",
            [STAGE_WHOLE + BLOCK_CALL] = ",'content':null,'tool_calls':[{" CALL
                                         "'arguments':'{\\\"query\\\":\\\"<all_args>\\\"}'}}]",
            [STAGE_WHOLE_CHOICE_END] = "},'logprobs':null,'finish_reason':'<reason>'}",
        },
};

const struct voice voice_openai_completions = {
    .name = "completions",
    .stream_type = "text/event-stream; charset=utf-8",
    .asks = chat_asks,
    .missing = "\"prompt\" is missing",
    .max_choices = 8,
    .is_usage_asked = true,
    .has_output = true,
    .reasons = {"stop", "length"},
    .errors = errors,
    .stages =
        {
            COMMON_STAGES,
            [STAGE_PREFIX] = "data: {'id':'cmpl-<id>','object':'text_completion',"
                             "'created':<created>,'model':'<model>','service_tier':'default',"
                             "'system_fingerprint':'fp_simulated0','choices':[",
            [STAGE_TOKEN + BLOCK_TEXT] = "<prefix>{'index':<choice>,'text':'<text>',"
                                         "'logprobs':null,'finish_reason':null}]<usage>}\n\n",
            [STAGE_FINISH] = "<prefix>{'index':<choice>,'text':'','logprobs':null,"
                             "'finish_reason':'<reason>'}]<no_usage>}\n\n",
            [STAGE_WHOLE_BEGIN] = "{'id':'cmpl-<id>','object':'text_completion',"
                                  "'created':<created>,'model':'<model>','choices':[",
            [STAGE_WHOLE_CHOICE] = "{'index':<choice>",
            [STAGE_WHOLE + BLOCK_TEXT] = ",'text':'<all_text>'",
            [STAGE_WHOLE_CHOICE_END] = ",'logprobs':null,'finish_reason':'<reason>'}",
        },
};

const struct voice voice_openai_embeddings = {
    .name = "embeddings",
    .asks = embeddings_asks,
    .missing = "\"input\" is missing",
    .max_choices = 2048,
    .reasons = {"", ""},
    .errors = errors,
    .stages =
        {
            [STAGE_WHOLE_BEGIN] = "{'object':'list','model':'<model>','data':[",
            [STAGE_WHOLE_CHOICE] = "{'object':'embedding','index':<choice>,'embedding':"
                                   "[0.0125,-0.25,0.5,-0.0625,0.75,-0.125,0.03125,-0.375]}",
            [STAGE_WHOLE_END] = "]<usage>}",
            [STAGE_REFUSED] = REFUSED,
            [STAGE_WITH_USAGE] = ",'usage':{'prompt_tokens':<prompt>,'total_tokens':<total>}",
        },
};
