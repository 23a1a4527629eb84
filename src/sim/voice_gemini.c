/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/voice_gemini.c - Gemini's generateContent: every event is a response of its own, in an event
 * stream (alt=sse) or as elements of one JSON array. The last one has the reason.
 */
#include "sim/voice.h"

static const struct ask_field asks[] = {
    {"contents", ASK_PROMPT},
    {"systemInstruction", ASK_PROMPT},
    {"generationConfig.maxOutputTokens", ASK_MAX_TOKENS},
    {"generationConfig.candidateCount", ASK_CHOICES},
    {0},
};

static const struct voice_error errors[] = {
    {400, "INVALID_ARGUMENT"}, {401, "UNAUTHENTICATED"},    {403, "PERMISSION_DENIED"},
    {404, "NOT_FOUND"},        {429, "RESOURCE_EXHAUSTED"}, {500, "INTERNAL"},
    {503, "UNAVAILABLE"},      {504, "DEADLINE_EXCEEDED"},  {0},
};

#define TAIL  ",'modelVersion':'<model>','responseId':'<id>'}"
#define ERROR "{'error':{'code':500,'message':'simulated engine failure','status':'INTERNAL'}}"
#define CALL  "{'functionCall':{'name':'lookup','args':{'query':'<all_args>'}}}"

#define CANDIDATE(parts, more)                                                                     \
    "<opener>{'candidates':[{'content':{'parts':[" parts "],'role':'model'}" more                  \
    ",'index':<choice>}]<usage>" TAIL "<closer>"

/* The reason ends each candidate. */
#define LAST CANDIDATE("{'text':''}", ",'finishReason':'<reason>'")

#define COMMON_STAGES                                                                              \
    [STAGE_TOKEN +                                                                                 \
        BLOCK_REASONING] = CANDIDATE("{'text':'<text>','thought':true}", ""),                      \
        [STAGE_TOKEN + BLOCK_TEXT] = CANDIDATE("{'text':'<text>'}", ""), [STAGE_FINISH] = LAST,    \
        [STAGE_CALL_NAME] = CANDIDATE(CALL, ""), [STAGE_TOKEN + BLOCK_CALL] = CANDIDATE(CALL, ""), \
        [STAGE_WHOLE_BEGIN] = "{'candidates':[", [STAGE_WHOLE_CHOICE] = "{'content':{'parts':[",   \
        [STAGE_WHOLE + BLOCK_REASONING] = "{'text':'<all_reasoning>','thought':true},",            \
        [STAGE_WHOLE + BLOCK_TEXT] = "{'text':'<all_text>'}", [STAGE_WHOLE + BLOCK_CALL] = CALL,   \
        [STAGE_WHOLE_CHOICE_END] =                                                                 \
            "],'role':'model'},'finishReason':'<reason>','index':<choice>}",                       \
        [STAGE_WHOLE_END] = "]<usage>" TAIL,                                                       \
        [STAGE_REFUSED] =                                                                          \
            "{'error':{'code':<status>,'message':<message>,'status':'<error_type>'}}",             \
        [STAGE_WITH_USAGE] =                                                                       \
            ",'usageMetadata':{'promptTokenCount':<prompt>,'cachedContentTokenCount':<cached>,"    \
            "'candidatesTokenCount':<answer>,'thoughtsTokenCount':<reasoning>,"                    \
            "'totalTokenCount':<total>}"

#define COMMON_MEMBERS                                                                             \
    .asks = asks, .missing = "\"contents\" is missing", .max_choices = 8, .is_call_whole = true,   \
    .is_finish_end = true, .has_output = true,                                                     \
    .reasons = {"STOP", "MAX_TOKENS", "STOP", "SAFETY"}, .errors = errors

const struct voice voice_gemini_sse = {
    COMMON_MEMBERS,
    .name = "gemini_sse",
    .stream_type = "text/event-stream",
    .stages =
        {
            COMMON_STAGES,
            [STAGE_COMMENT] = ": keep-alive\n\n",
            [STAGE_ERROR] = "<opener>" ERROR "<closer>",
        },
};

const struct voice voice_gemini_array = {
    COMMON_MEMBERS,
    .name = "gemini_array",
    .stream_type = "application/json; charset=UTF-8",
    .is_stream_array = true,
    .stages =
        {
            COMMON_STAGES,
            [STAGE_COMMENT] = "\n",
            [STAGE_DONE] = "]",
            [STAGE_ERROR] = "<opener>" ERROR VOICE_NEXT "]",
        },
};
