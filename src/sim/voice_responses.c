/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/voice_responses.c - OpenAI's Responses: typed events with a running number, items that are
 * opened and closed around their text, and the whole response at the end.
 */
#include "sim/voice.h"

static const struct ask_field asks[] = {
    {"model", ASK_MODEL},
    {"stream", ASK_STREAM},
    {"stream_options", ASK_OPTIONS},
    {"max_output_tokens", ASK_MAX_TOKENS},
    {"input", ASK_PROMPT},
    {"instructions", ASK_PROMPT},
    {0},
};

static const struct voice_error errors[] = {
    {400, "invalid_request_error"},
    {429, "rate_limit_error"},
    {500, "server_error"},
    {0},
};

#define EVENT(type, members)                                                                       \
    "event: " type "\ndata: {'type':'" type "','sequence_number':<sequence>" members "}\n\n"

#define PART "'output_index':<block>,'content_index':0"

/* A message whose text is announced before it comes. */
#define OPEN(part)                                                                                 \
    EVENT("response.output_item.added",                                                            \
          ",'output_index':<block>,'item':" MESSAGE("in_progress", ""))                            \
    VOICE_NEXT EVENT("response.content_part.added", ",'item_id':'msg_<id>'," PART ",'part':" part)

#define MESSAGE(status, parts)                                                                     \
    "{'id':'msg_<id>','type':'message','status':'" status "','role':'assistant','content':[" parts \
    "]}"
#define REASONING(status, summary)                                                                 \
    "{'id':'rs_<id>','type':'reasoning','status':'" status "','summary':[" summary "]}"
#define FUNCTION_CALL(status, arguments)                                                           \
    "{'id':'fc_<id>','type':'function_call','status':'" status "','call_id':'call_<id>',"          \
    "'name':'lookup','arguments':'" arguments "'}"

#define TEXT_PART(text)    "{'type':'output_text','text':'" text "','annotations':[]}"
#define REFUSAL_PART(text) "{'type':'refusal','refusal':'" text "'}"
#define SUMMARY_PART(text) "{'type':'summary_text','text':'" text "'}"
#define ALL_ARGUMENTS      "{\\\"query\\\":\\\"<all_args>\\\"}"

#define ITEM_DONE(item) EVENT("response.output_item.done", ",'output_index':<block>,'item':" item)

#define FAILURE "'code':'server_error','message':'simulated engine failure'"

const struct voice voice_responses =
    {
        .name = "responses",
        .stream_type = "text/event-stream; charset=utf-8",
        .asks = asks,
        .missing = "\"input\" is missing",
        .max_choices = 1,
        .has_output = true,
        .reasons = {"completed", "incomplete", "completed", "completed"},
        .whys = {"null", "{\"reason\":\"max_output_tokens\"}", "null", "null"},
        .errors = errors,
        .stages =
            {
                [STAGE_PREFIX] = "{'id':'resp_<id>','object':'response','created_at':<created>,"
                                 "'model':'<model>','background':false,'parallel_tool_calls':true,"
                                 "'service_tier':'default','tools':[],'metadata':{}",
                [STAGE_COMMENT] = ": keep-alive\n\n",
                [STAGE_PRELUDE] =
                    EVENT("response.created", ",'response':<prefix>,'status':'in_progress',"
                                              "'error':null,'incomplete_details':null,'output':[],"
                                              "'usage':null}")
                        VOICE_NEXT EVENT("response.in_progress",
                                         ",'response':<prefix>,'status':'in_progress','error':null,"
                                         "'incomplete_details':null,'output':[],'usage':null}"),
                [STAGE_OPEN + BLOCK_REASONING] =
                    EVENT("response.output_item.added",
                          ",'output_index':<block>,'item':" REASONING("in_progress", ""))
                        VOICE_NEXT EVENT("response.reasoning_summary_part.added",
                                         ",'item_id':'rs_<id>','output_index':<block>,"
                                         "'summary_index':0,'part':" SUMMARY_PART("")),
                [STAGE_OPEN + BLOCK_TEXT] = OPEN(TEXT_PART("")),
                [STAGE_OPEN + BLOCK_REFUSAL] = OPEN(REFUSAL_PART("")),
                [STAGE_CALL_NAME] =
                    EVENT("response.output_item.added",
                          ",'output_index':<block>,'item':" FUNCTION_CALL("in_progress", "")),
                [STAGE_TOKEN + BLOCK_REASONING] =
                    EVENT("response.reasoning_summary_text.delta",
                          ",'item_id':'rs_<id>','output_index':<block>,'summary_index':0,"
                          "'delta':'<text>'"),
                [STAGE_TOKEN + BLOCK_TEXT] =
                    EVENT("response.output_text.delta",
                          ",'item_id':'msg_<id>'," PART ",'delta':'<text>','logprobs':[]"),
                [STAGE_TOKEN + BLOCK_REFUSAL] = EVENT(
                    "response.refusal.delta", ",'item_id':'msg_<id>'," PART ",'delta':'<text>'"),
                [STAGE_TOKEN + BLOCK_CALL] = EVENT("response.function_call_arguments.delta",
                                                   ",'item_id':'fc_<id>','output_index':<block>,"
                                                   "'delta':'<args_begin><text><args_end>'"),
                [STAGE_CLOSE + BLOCK_REASONING] = EVENT(
                    "response.reasoning_summary_text.done",
                    ",'item_id':'rs_<id>','output_index':<block>,'summary_index':0,"
                    "'text':'<all_reasoning>'")
                    VOICE_NEXT EVENT("response.reasoning_summary_part.done",
                                     ",'item_id':'rs_<id>','output_index':<block>,"
                                     "'summary_index':0,'part':" SUMMARY_PART("<all_reasoning>"))
                        VOICE_NEXT ITEM_DONE(
                            REASONING("completed", SUMMARY_PART("<all_reasoning>"))),
                [STAGE_CLOSE + BLOCK_TEXT] =
                    EVENT("response.output_text.done",
                          ",'item_id':'msg_<id>'," PART ",'text':'<all_text>','logprobs':[]")
                        VOICE_NEXT EVENT("response.content_part.done",
                                         ",'item_id':'msg_<id>'," PART
                                         ",'part':" TEXT_PART("<all_text>"))
                            VOICE_NEXT ITEM_DONE(MESSAGE("<reason>", TEXT_PART("<all_text>"))),
                [STAGE_CLOSE + BLOCK_REFUSAL] =
                    EVENT("response.refusal.done",
                          ",'item_id':'msg_<id>'," PART ",'refusal':'<all_text>'")
                        VOICE_NEXT EVENT("response.content_part.done",
                                         ",'item_id':'msg_<id>'," PART
                                         ",'part':" REFUSAL_PART("<all_text>"))
                            VOICE_NEXT ITEM_DONE(MESSAGE("<reason>", REFUSAL_PART("<all_text>"))),
                [STAGE_CLOSE + BLOCK_CALL] =
                    EVENT("response.function_call_arguments.done",
                          ",'item_id':'fc_<id>','output_index':<block>,'arguments':'" ALL_ARGUMENTS
                          "'") VOICE_NEXT ITEM_DONE(FUNCTION_CALL("completed", ALL_ARGUMENTS)),
                [STAGE_DONE] = EVENT("response.<reason>", ",'response':<whole>"),
                [STAGE_ERROR] =
                    EVENT("error", "," FAILURE ",'param':null")
                        VOICE_NEXT
                            EVENT("response.failed",
                                  ",'response':<prefix>,'status':'failed','error':{" FAILURE
                                  "},'incomplete_details':null,'output':[],'usage':null}"),
                [STAGE_WHOLE_BEGIN] = "<prefix>,'status':'<reason>','error':null,"
                                      "'incomplete_details':<why>,'output':[",
                [STAGE_WHOLE + BLOCK_REASONING] =
                    REASONING("completed", SUMMARY_PART("<all_reasoning>")) ",",
                [STAGE_WHOLE + BLOCK_TEXT] = MESSAGE("<reason>", TEXT_PART("<all_text>")),
                [STAGE_WHOLE + BLOCK_REFUSAL] = MESSAGE("<reason>", REFUSAL_PART("<all_text>")),
                [STAGE_WHOLE + BLOCK_CALL] = FUNCTION_CALL("completed", ALL_ARGUMENTS),
                [STAGE_WHOLE_END] = "]<usage>}",
                [STAGE_WITH_USAGE] = ",'usage':{'input_tokens':<prompt>,"
                                     "'input_tokens_details':{'cached_tokens':<cached>},'output_"
                                     "tokens':<completion>,"
                                     "'output_tokens_details':{'reasoning_tokens':<reasoning>},'"
                                     "total_tokens':<total>}",
                [STAGE_NO_USAGE] = ",'usage':null",
                [STAGE_REFUSED] =
                    "{'error':{'message':<message>,'type':'<error_type>','param':null,"
                    "'code':null}}",
            },
};
