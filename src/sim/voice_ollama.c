/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/voice_ollama.c - Ollama's own API: a JSON text per line, streamed unless the request says
 * otherwise; the last line has counts and the engine's times in ns.
 */
#include "sim/voice.h"

static const struct ask_field asks[] = {
    {"model", ASK_MODEL},
    {"stream", ASK_STREAM},
    {"options.num_predict", ASK_MAX_TOKENS},
    {"messages", ASK_PROMPT},
    {"prompt", ASK_PROMPT},
    {"system", ASK_PROMPT},
    {0},
};

static const struct ask_field embed_asks[] = {
    {"model", ASK_MODEL},
    {"input", ASK_INPUTS},
    {0},
};

#define LINE(members) "{'model':'<model>','created_at':'<now>'," members ",'done':false}\n"
#define MESSAGE(content, more)                                                                     \
    LINE("'message':{'role':'assistant','content':'" content "'" more "}")
#define CALL                                                                                       \
    "'tool_calls':[{'id':'call_<id>','function':{'index':0,'name':'lookup',"                       \
    "'arguments':{'query':'<all_args>'}}}]"

/* The time in the queue is what a model takes to load: nothing else happens before the prompt. */
#define END                                                                                        \
    ",'done':true,'done_reason':'<reason>','total_duration':<total_ns>,"                           \
    "'load_duration':<queue_ns><usage>}"

#define COMMON_STAGES                                                                              \
    [STAGE_COMMENT] = "\n", [STAGE_ERROR] = "{'error':'simulated engine failure'}\n",              \
    [STAGE_WHOLE_BEGIN] = "{'model':'<model>','created_at':'<now>'",                               \
    [STAGE_REFUSED] = "{'error':<message>}",                                                       \
    [STAGE_WITH_USAGE] = ",'prompt_eval_count':<prompt>,'prompt_eval_duration':<prefill_ns>,"      \
                         "'eval_count':<completion>,'eval_duration':<decode_ns>"

const struct voice voice_ollama_chat = {
    .name = "ollama_chat",
    .stream_type = "application/x-ndjson",
    .asks = asks,
    .missing = "\"messages\" is missing",
    .max_choices = 1,
    .is_stream_default = true,
    .is_call_whole = true,
    .has_output = true,
    .reasons = {"stop", "length", "stop"},
    .stages =
        {
            COMMON_STAGES,
            [STAGE_CALL_NAME] = MESSAGE("", "," CALL),
            [STAGE_TOKEN + BLOCK_REASONING] = MESSAGE("", ",'thinking':'<text>'"),
            [STAGE_TOKEN + BLOCK_TEXT] = MESSAGE("<text>", ""),
            [STAGE_TOKEN + BLOCK_CALL] = MESSAGE("", "," CALL),
            [STAGE_DONE] = "{'model':'<model>','created_at':'<now>',"
                           "'message':{'role':'assistant','content':''}" END "\n",
            [STAGE_WHOLE_CHOICE] = ",'message':{'role':'assistant'",
            [STAGE_WHOLE + BLOCK_REASONING] = ",'thinking':'<all_reasoning>'",
            [STAGE_WHOLE + BLOCK_TEXT] = ",'content':'<all_text>'",
            [STAGE_WHOLE + BLOCK_CALL] = ",'content':''," CALL,
            [STAGE_WHOLE_CHOICE_END] = "}",
            [STAGE_WHOLE_END] = END,
        },
};

const struct voice voice_ollama_generate = {
    .name = "ollama_generate",
    .stream_type = "application/x-ndjson",
    .asks = asks,
    .missing = "\"prompt\" is missing",
    .max_choices = 1,
    .is_stream_default = true,
    .has_output = true,
    .reasons = {"stop", "length", "stop"},
    .stages =
        {
            COMMON_STAGES,
            [STAGE_TOKEN + BLOCK_REASONING] = LINE("'response':'','thinking':'<text>'"),
            [STAGE_TOKEN + BLOCK_TEXT] = LINE("'response':'<text>'"),
            [STAGE_DONE] = "{'model':'<model>','created_at':'<now>','response':''" END "\n",
            [STAGE_WHOLE + BLOCK_REASONING] = ",'thinking':'<all_reasoning>'",
            [STAGE_WHOLE + BLOCK_TEXT] = ",'response':'<all_text>'",
            [STAGE_WHOLE_END] = END,
        },
};

const struct voice voice_ollama_embed = {
    .name = "ollama_embed",
    .asks = embed_asks,
    .missing = "\"input\" is missing",
    .max_choices = 2048,
    .reasons = {"", ""},
    .stages =
        {
            [STAGE_WHOLE_BEGIN] = "{'model':'<model>','embeddings':[",
            [STAGE_WHOLE_CHOICE] = "[0.0125,-0.25,0.5,-0.0625,0.75,-0.125,0.03125,-0.375]",
            [STAGE_WHOLE_END] = "],'total_duration':<total_ns>,'load_duration':<queue_ns><usage>}",
            [STAGE_REFUSED] = "{'error':<message>}",
            [STAGE_WITH_USAGE] = ",'prompt_eval_count':<prompt>",
        },
};
