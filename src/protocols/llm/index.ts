/** The face of this folder: dialects, translation, usage and its cost, guards, signatures. */
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
export { type MaskedText, maskText, StreamMasker } from './guards/masker.ts'
export { RECOGNIZERS, type Recognizer, recognizerOf } from './guards/recognizers.ts'
export { setMembers } from './json.ts'
export { type AwsCredentials, signAws } from './sigv4.ts'
export { translatorFor } from './translate.ts'
export type {
  StreamTranslator,
  TranslatedCall,
  TranslatedResponse,
  TranslateOptions,
  Translator,
} from './translator.ts'
export type { Usage } from './usage.ts'
