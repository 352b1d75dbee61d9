/** The face of this folder: dialects, translation between them, usage and errors. */
export type {
  Dialect,
  DialectName,
  Endpoint,
  Operation,
  Read,
  RequestSummary,
  ResponseSummary,
  WireRequest,
} from './dialect.ts'
export { DIALECTS, dialectOf, recognizeEndpoint } from './dialects/index.ts'
export type { Header, LlmError, LlmErrorType, WireError } from './error.ts'
export { translatorFor } from './translate.ts'
export type {
  StreamTranslator,
  TranslatedCall,
  TranslatedResponse,
  TranslateOptions,
  Translator,
} from './translator.ts'
export type { Usage } from './usage.ts'
