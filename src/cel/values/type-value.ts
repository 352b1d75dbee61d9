/** The result of `type(x)`, and what a type name in an expression denotes. */
export class TypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}
