/** The public API of this folder: dialects, translation, usage and its cost, guards, signatures. */
export {
  type Catalog,
  type CatalogEntry,
  type Cost,
  compileCatalog,
  formatCost,
} from './catalog/catalog.ts'
export type { ModelCatalog } from './catalog/schema.ts'
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
export { guardMessages, guardMessagesNow } from './guards/guard-messages.ts'
export {
  type Guard,
  type GuardCheck,
  type GuardedMessage,
  type GuardRule,
  isRemote,
  noteOutcome,
  patternRecognizer,
} from './guards/guard-rule.ts'
export { guardTextSteps } from './guards/guard-text.ts'
export { RECOGNIZERS, recognizersOf, searchEffort } from './guards/recognizers.ts'
export { hasTokens, mapRequestTexts } from './guards/request-texts.ts'
export { setMembers } from './json.ts'
export { type NamedId, stateIdsOf } from './state/state-edits.ts'
export { type OpenedId, StateIds } from './state/state-ids.ts'
export { guardedTranslator, translatorFor } from './translate.ts'
export type {
  StateMaps,
  StreamTranslator,
  TranslatedCall,
  TranslatedResponse,
  TranslateOptions,
  Translator,
} from './translator.ts'
export type { Usage } from './usage.ts'
