/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/voice_anthropic.c - Anthropic's messages: content blocks with start and stop, usage at the
 * beginning (the prompt) and at the end (the output, counted up), pings as keep-alives.
 */
#include "sim/voice.h"

static const struct ask_field asks[] = {
    {"model", ASK_MODEL},     {"stream", ASK_STREAM}, {"max_tokens", ASK_MAX_TOKENS},
    {"messages", ASK_PROMPT}, {"system", ASK_PROMPT}, {0},
};

static const struct voice_error errors[] = {
    {400, "invalid_request_error"},
    {401, "authentication_error"},
    {403, "permission_error"},
    {404, "not_found_error"},
    {413, "request_too_large"},
    {429, "rate_limit_error"},
    {500, "api_error"},
    {529, "overloaded_error"},
    {0},
};

#define EVENT(type, members) "event: " type "\ndata: {'type':'" type "'" members "}\n\n"

#define START(block) EVENT("content_block_start", ",'index':<block>,'content_block':{" block "}")
#define DELTA(delta) EVENT("content_block_delta", ",'index':<block>,'delta':{" delta "}")
#define STOP         EVENT("content_block_stop", ",'index':<block>")

#define MESSAGE "{'id':'msg_<id>','type':'message','role':'assistant','model':'<model>','content':["

/* What the cache gave is told beside the rest of the prompt, not in it. */
#define INPUT                                                                                      \
    "'input_tokens':<prompt_new>,'cache_creation_input_tokens':0,"                                 \
    "'cache_read_input_tokens':<cached>"

#define CALL(input) "'type':'tool_use','id':'toolu_<id>','name':'lookup','input':" input

#define REFUSED                                                                                    \
    "{'type':'error','error':{'type':'<error_type>','message':<message>},"                         \
    "'request_id':'req_simulated0'}"

const struct voice voice_anthropic_messages = {
    .name = "messages",
    .stream_type = "text/event-stream; charset=utf-8",
    .asks = asks,
    .missing = "\"messages\" is missing",
    .max_choices = 1,
    .has_output = true,
    .reasons = {"end_turn", "max_tokens", "tool_use", "refusal"},
    .errors = errors,
    .stages =
        {
            [STAGE_COMMENT] = EVENT("ping", ""),
            [STAGE_PRELUDE] = EVENT("message_start", ",'message':" MESSAGE "],'stop_reason':null,"
                                                     "'stop_sequence':null<first_usage>}"),
            [STAGE_OPEN + BLOCK_REASONING] =
                START("'type':'thinking','thinking':'','signature':''"),
            [STAGE_OPEN + BLOCK_TEXT] = START("'type':'text','text':''"),
            [STAGE_CALL_NAME] = START(CALL("{}")),
            [STAGE_TOKEN + BLOCK_REASONING] = DELTA("'type':'thinking_delta','thinking':'<text>'"),
            [STAGE_TOKEN + BLOCK_TEXT] = DELTA("'type':'text_delta','text':'<text>'"),
            [STAGE_TOKEN + BLOCK_CALL] = DELTA("'type':'input_json_delta','partial_json':"
                                               "'<args_begin><text><args_end>'"),
            [STAGE_CLOSE + BLOCK_REASONING] =
                DELTA("'type':'signature_delta','signature':'<id>'") VOICE_NEXT STOP,
            [STAGE_CLOSE + BLOCK_TEXT] = STOP,
            [STAGE_CLOSE + BLOCK_CALL] = STOP,
            [STAGE_FINISH] = EVENT("message_delta", ",'delta':{'stop_reason':'<reason>',"
                                                    "'stop_sequence':null}<usage>"),
            [STAGE_DONE] = EVENT("message_stop", ""),
            [STAGE_ERROR] = EVENT("error", ",'error':{'type':'api_error',"
                                           "'message':'simulated engine failure'}"),
            [STAGE_WHOLE_BEGIN] = MESSAGE,
            [STAGE_WHOLE + BLOCK_REASONING] =
                "{'type':'thinking','thinking':'<all_reasoning>','signature':'<id>'},",
            [STAGE_WHOLE + BLOCK_TEXT] = "{'type':'text','text':'<all_text>'}",
            [STAGE_WHOLE + BLOCK_CALL] = "{" CALL("{'query':'<all_args>'}") "}",
            [STAGE_WHOLE_END] = "],'stop_reason':'<reason>','stop_sequence':null<usage>}",
            [STAGE_REFUSED] = REFUSED,
            [STAGE_FIRST_USAGE] = ",'usage':{" INPUT ",'output_tokens':1}",
            [STAGE_WITH_USAGE] = ",'usage':{" INPUT ",'output_tokens':<completion>,"
                                 "'output_tokens_details':{'thinking_tokens':<reasoning>}}",
        },
};

const struct voice voice_anthropic_count = {
    .name = "count_tokens",
    .asks = asks,
    .missing = "\"messages\" is missing",
    .max_choices = 1,
    .reasons = {"", ""},
    .errors = errors,
    .stages =
        {
            [STAGE_WHOLE_END] = "{'input_tokens':<prompt>}",
            [STAGE_REFUSED] = REFUSED,
        },
};
