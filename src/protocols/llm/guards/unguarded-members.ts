/*
 * What guards do not read in a request. A member that is not listed is guarded. A test compares
 * this with the types of the vendors.
 */

/** Members of a request that are options of the call, not content. */
export const OPTIONS: ReadonlySet<string> = new Set(
  [
    // Which model, and how it is to run.
    'model stream stream_options service_tier serviceTier background store truncation include',
    'modalities audio reasoning reasoning_effort thinking verbosity inference_geo speed betas',
    'inferenceConfig performanceConfig guardrailConfig generationConfig generation_config',
    'safetySettings safety_settings context_management additionalModelResponseFieldPaths',
    'anthropic_version anthropic_beta stop stop_sequences logit_bias truncate outputConfig',
    // The tools that a program offers, and the form of the response: descriptions and schemas.
    'tools tool_choice functions function_call toolConfig tool_config mcp_servers',
    'response_format text output_config output_format web_search_options',
    // Who calls, for the provider's own records.
    'user metadata safety_identifier requestMetadata labels',
    // What is stored by a provider, and was guarded when it was sent.
    'previous_response_id conversation container cachedContent cached_content',
    'prompt_cache_key prompt_cache_retention prompt_cache_options',
    // How an embedding is written.
    'encoding_format embedding_types input_type taskType task_type outputDimensionality',
  ].flatMap((line) => line.split(' ')),
)

/** Members of content that name other content, or that only their maker can read. */
export const IDENTIFIERS: ReadonlySet<string> = new Set(
  [
    'id call_id callId tool_call_id tool_use_id toolUseId file_id item_id approval_request_id',
    'signature thoughtSignature thought_signature encrypted_content encrypted_index',
    'redactedContent',
  ].flatMap((line) => line.split(' ')),
)

const KEYWORDS: ReadonlySet<string> = new Set(
  'type role media_type mimeType mime_type detail format status ttl phase'.split(' '),
)
const KEYWORD = /^[\w.:;=/+-]{0,128}$/

/** True for a word of an API; in its place, anything else is guarded. */
export function isKeyword(name: string, value: string): boolean {
  return KEYWORDS.has(name) && KEYWORD.test(value)
}
