import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import type { Construct } from 'constructs';
import { settled } from './settle';

/** The template with these values, as constructs. What is included is read from a file, and at once. */
export function include(scope: Construct, values: Record<string, string | string[]>): CfnInclude {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'outbox-template-'));
  try {
    const templateFile = path.join(folder, 'template.json');
    fs.writeFileSync(templateFile, JSON.stringify(settled(values)));
    // Of this name nothing is seen in the ids of resources.
    return new CfnInclude(scope, 'Default', { templateFile, preserveLogicalIds: false, parameters: values });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}
