/**
 * A host object whose attributes are computed when read (`request`, `source`). Only the declared
 * field names exist in CEL; an attribute that is not set reads as undefined.
 */
export abstract class Struct {
  abstract readonly structName: string
  abstract readonly fieldNames: ReadonlySet<string>
}
