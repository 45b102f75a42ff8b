/** What a package manager has in place of `npm install` and `npx nest add`. */
interface Manager {
  readonly name: string;
  readonly commands: string;
}

const INSTALL = /^npm install((?: [@\w][\w@/.-]*)+)( +#.*)?$/;
const NEST_ADD = /^npx nest add (\S+)((?: --[\w-]+(?:=\S+)?)*)$/;

/**
 * The commands of a block for npm, pnpm and Yarn; undefined where the block does more than install packages. With pnpm and Yarn the package
 * comes first, since `@nestjs/cli` 11 does not wait for pnpm (docs/installation.md).
 */
export function managersOf(block: string): readonly Manager[] | undefined {
  const lines = block.trimEnd().split('\n');
  if (!lines.every((line) => INSTALL.test(line) || NEST_ADD.test(line))) return undefined;
  const others = ['pnpm', 'yarn'].map((name) => ({
    name,
    commands: lines
      .map((line) =>
        line
          .replace(INSTALL, (_, packages: string, comment = '') => `${name} add${packages}${comment as string}`)
          .replace(NEST_ADD, `${name} add $1\n${name} nest add $1$2 --skip-install\n${name} install`),
      )
      .join('\n'),
  }));
  return [{ name: 'npm', commands: lines.join('\n') }, ...others];
}
