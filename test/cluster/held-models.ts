import type { Delivery } from '../../src/controller/delivery.ts'
import type { Model } from '../../src/model/model.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { versionOfModel } from '../../src/model/version.ts'

/** Keeps Models for inspection, and has no proxies: no Gateway is programmed. */
export class HeldModels implements Delivery {
  readonly models = new Map<string, Model>()

  publish(gateway: string, model: Model): string {
    this.models.set(gateway, model)
    return runToCompletion(versionOfModel(model))
  }

  withdraw(gateway: string): void {
    this.models.delete(gateway)
  }

  proxies(): readonly never[] {
    return []
  }
}
