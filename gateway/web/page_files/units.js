// What is shown of a page: its lines, words or characters, each a unit with text, score and quad.

export const LEVELS = ["line", "word", "char"];

const DOUBTFUL_SCORE = 0.85; // below it, lines are read a second time; the annotated picture has the same colours

/** Whether an answer that was asked for at one level has what another one shows. */
export const covers = (asked, wanted) => LEVELS.indexOf(asked) >= LEVELS.indexOf(wanted);

/** For each line its units, numbered through the page. A line without words is one unit itself. */
export function unitsOf(page, level) {
  let index = 0;
  return page.lines.map((line, number) =>
    partsOf(line, level).map((part) => ({
      index: index++,
      line: number,
      quad: part.quad,
      text: part.text,
      score: part.score,
      gap: part.gap ?? false,
      kind: kindOf(part),
    })),
  );
}

/** A score as people read it. */
export const written = (score) => (score === null ? "not read" : score.toFixed(2));

function partsOf(line, level) {
  if (level === "line" || !line.words?.length) return [line];
  const words = line.words.map((word) => ({ ...word, gap: word.space_before !== "none" }));
  if (level === "word") return words;
  return words.flatMap((word) =>
    word.characters ? word.characters.map((one, place) => ({ ...one, gap: place === 0 && word.gap })) : [word],
  );
}

function kindOf({ text, score }) {
  if (text === null) return "unread";
  return score >= DOUBTFUL_SCORE ? "good" : "doubtful";
}
